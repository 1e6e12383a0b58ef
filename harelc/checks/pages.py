"""Pages of the codes that stages before the checks report: reading, imports, fragments, look-ups (language.md 6).

They stand here so that one list explains every code.
"""

from __future__ import annotations

from ..diagnostics import ERROR, WARNING
from .registry import Page


def _page(code: str, text: str, severity: str = ERROR) -> Page:
    return Page(code, severity, text)


PAGES = (
    _page(
        "syntax_error",
        """The text does not follow the grammar (language 1 to 4).

        The message says what was expected there. The rest of the file is read all the same.

        Wrong:

            event Go {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              form Cart to Done on Go
            }

        Right:

            event Go {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go
            }
        """,
    ),
    _page(
        "encoding_error",
        """The file is not UTF-8 text (language 1).

        Save it as UTF-8; a byte-order mark is allowed.
        """,
    ),
    _page(
        "unreadable_file",
        """A file cannot be read (build 1).

        It does not exist, is a folder, or may not be read. A text without a file has no folder to import from.
        """,
    ),
    _page(
        "too_deep",
        """States, parentheses, `not` or lists are nested too deeply (edges, Values).

        At most 64 levels of states, and 200 of the others. Give an inner part a name: a fragment, or a named guard.
        """,
    ),
    _page(
        "too_large",
        """A machine is too large after its fragments were put in (edges, Values).

        At most 100,000 states, transitions or used fragments. A note names the chain of uses: fragments that use one
        another several times multiply.

        Wrong:

            fragment F0 { initial A  final A success {} }
            fragment F1 { initial A  use F0 as A  use F0 as B  use F0 as C  use F0 as D }
            fragment F2 { initial A  use F1 as A  use F1 as B  use F1 as C  use F1 as D }
            fragment F3 { initial A  use F2 as A  use F2 as B  use F2 as C  use F2 as D }
            fragment F4 { initial A  use F3 as A  use F3 as B  use F3 as C  use F3 as D }
            fragment F5 { initial A  use F4 as A  use F4 as B  use F4 as C  use F4 as D }
            fragment F6 { initial A  use F5 as A  use F5 as B  use F5 as C  use F5 as D }
            fragment F7 { initial A  use F6 as A  use F6 as B  use F6 as C  use F6 as D }
            fragment F8 { initial A  use F7 as A  use F7 as B  use F7 as C  use F7 as D }
            machine order {
              initial All
              use F8 as All
              final Done success {}
              from All to Done
            }

        Right:

            fragment F0 { initial A  final A success {} }
            machine order {
              initial All
              use F0 as All
              final Done success {}
              from All to Done
            }
        """,
    ),
    _page(
        "import_not_found",
        """An imported file does not exist (language 2).

        The path is relative to the file that imports, with `/` and in exact case.

        Wrong:

            import "lob.stm"
            event Go {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go
            }

        Right:

            import "lib.stm"
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go
            }
            # file: lib.stm
            event Go {}
        """,
    ),
    _page(
        "import_cycle",
        """Files import each other in a circle (language 2).

        Move what both need into a third file that imports neither.

        Wrong:

            import "lib.stm"
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go
            }
            # file: lib.stm
            import "main.stm"
            event Go {}

        Right:

            import "lib.stm"
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go
            }
            # file: lib.stm
            event Go {}
        """,
    ),
    _page(
        "import_outside",
        """An import leads out of the project (edges, Values).

        Imports are relative and stay inside the folder of the first source, so that what is published is complete.

        Wrong:

            import "../lib.stm"
            machine order {
              initial Done
              final Done success {}
            }

        Right:

            import "lib.stm"
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go
            }
            # file: lib.stm
            event Go {}
        """,
    ),
    _page(
        "import_shadowed",
        """Two imported files declare one name differently (language 2).

        Events, guards and bindings come in bare, so it is not clear which is meant; a local declaration wins over
        both. Declare the name here, or rename one of the two.

        Wrong:

            import "left.stm"
            import "right.stm"
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go | Stop
            }
            # file: left.stm
            event Go { amount: int }
            # file: right.stm
            event Go { note: string }
            event Stop {}

        Right:

            import "left.stm"
            import "right.stm"
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go | Stop
            }
            # file: left.stm
            event Go { amount: int }
            # file: right.stm
            event Stop {}
        """,
        WARNING,
    ),
    _page(
        "unknown_fragment",
        """A `use` names a fragment that does not exist (language 2).

        Fragments of a file imported with an alias are reached through it: `use lib.Retry`.

        Wrong:

            event Go {}
            machine order {
              initial Asking
              use Ask as Asking
              final Done success {}
              from Asking to Done on Go
            }

        Right:

            event Go {}
            fragment Ask { initial A  state A {}  final B success {}  from A to B on Go }
            machine order {
              initial Asking
              use Ask as Asking
              final Done success {}
              from Asking to Done
            }
        """,
    ),
    _page(
        "fragment_argument",
        """An argument of a `use` is missing, unknown or of the wrong kind (language 2).

        Each parameter is given once: an action, a guard, a state, a value or an event, as the fragment declares it.

        Wrong:

            event Go {}
            fragment Ask(next: event) { initial A  state A {}  final B success {}  from A to B on next }
            machine order {
              initial Asking
              use Ask as Asking
              final Done success {}
              from Asking to Done on Go
            }

        Right:

            event Go {}
            fragment Ask(next: event) { initial A  state A {}  final B success {}  from A to B on next }
            machine order {
              initial Asking
              use Ask(next = Go) as Asking
              final Done success {}
              from Asking to Done
            }
        """,
    ),
    _page(
        "fragment_cycle",
        """A fragment uses itself, directly or through others (language 2).

        A `use` is replaced by the fragment's text, and this would never end. For repetition write a transition back.

        Wrong:

            event Go {}
            fragment Ask { initial In  use Ask as In }
            machine order {
              initial Work
              use Ask as Work
              final Done success {}
              from Work to Done on Go
            }

        Right:

            event Go {}
            fragment Ask { initial In  state In {}  from In to In on Go }
            machine order {
              initial Work
              use Ask as Work
              final Done success {}
              from Work to Done on Cancel
            }
        """,
    ),
    _page(
        "unknown_state",
        """A name of a state is not visible where it is used (language 4).

        A source is a direct child of the body, or the body's own state. A target is looked up from the body outwards;
        `A.B` steps down.

        Wrong:

            event Paid {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Doen on Paid
            }

        Right:

            event Paid {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Paid
            }
        """,
    ),
    _page(
        "initial_unresolved",
        """An `initial` names no direct child of its body (language 3).

        Wrong:

            event Go {}
            machine order {
              initial Crat
              state Cart {}
              final Done success {}
              from Cart to Done on Go
            }

        Right:

            event Go {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Go
            }
        """,
    ),
    _page(
        "selector_target_unresolved",
        """A branch of a `select` or `choose` leads to a state that is not visible (language 4).

        Wrong:

            event Go {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart select decide on Go { "yes" to Done  else to Crat }
            }

        Right:

            event Go {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart select decide on Go { "yes" to Done  else to Cart }
            }
        """,
    ),
    _page(
        "unknown_event",
        """A kind of event that no file declares is handled or deferred (language 2, 6).

        Wrong:

            event Paid {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Paid | Refunded
            }

        Right:

            event Paid {}
            event Refunded {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Paid | Refunded
            }
        """,
    ),
    _page(
        "unknown_guard",
        """A bare name in a predicate is no declared guard (language 4).

        To read a field, compare it: `paid == true`. To name a predicate, declare `guard NAME = …`.

        Wrong:

            event Paid { amount: int }
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Paid where generous
            }

        Right:

            event Paid { amount: int }
            guard generous = amount > 100
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Paid where generous
            }
        """,
    ),
    _page(
        "guard_cycle",
        """Guards name each other in a circle (language 6).

        Wrong:

            event Paid { amount: int }
            guard large = not small
            guard small = not large
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Paid where large
            }

        Right:

            event Paid { amount: int }
            guard large = not small
            guard small = amount < 100
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on Paid where large
            }
        """,
    ),
    _page(
        "unknown_machine",
        """An `invoke` names a machine that does not exist (language 2, 5.8).

        Machines of a file imported with an alias are reached through it: `invoke pay.payment`.

        Wrong:

            machine order {
              initial Paying
              state Paying { invoke payment }
              final Done success {}
              from Paying to Done on Returned
            }

        Right:

            machine order {
              initial Paying
              state Paying { invoke payment }
              final Done success {}
              from Paying to Done on Returned
            }
            machine payment {
              initial Paid
              final Paid success {}
            }
        """,
    ),
    _page(
        "name_clash",
        """Two names of a source would be one name in Python, or two machines one file (edges, Values).

        Signs that Python's names cannot have become `_`, and file names do not tell upper from lower case everywhere. A
        generated module could then reach only one of the two.

        Wrong:

            event "Order Paid" {}
            event Order_Paid {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on "Order Paid" | Order_Paid
            }

        Right:

            event "Order Paid" {}
            event OrderSettled {}
            machine order {
              initial Cart
              state Cart {}
              final Done success {}
              from Cart to Done on "Order Paid" | OrderSettled
            }
        """,
    ),
)
