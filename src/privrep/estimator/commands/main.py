"""The commands of privrep: from a table to a private prior, from a prior to heads, and advice from sizes alone."""

from __future__ import annotations

import inspect
import math
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import Field
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import pyarrow as pa
import typer

import privrep
from privrep.estimator import PrivateRepresentation
from privrep.estimator.commands.release import (
    HEADS,
    PRIVATE,
    PUBLIC,
    audited,
    read_heads,
    read_release,
    write,
    write_heads,
    write_private,
)
from privrep.estimator.parameters import declared
from privrep.estimator.private_representation import local_heads, predicted
from privrep.estimator.stated import expanded, from_toml
from privrep.estimator.summary import Summary, advice_line
from privrep.users.identity import DATES
from privrep.users.scattered import ScatteredUsers
from privrep.users.schema import HEADLESS, INDEX, KINDS, Oddities
from privrep.users.table_files import TableFile, columns_of, files_of
from privrep.users.whole_files import in_one_move, write_whole

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def print_version(asked: bool) -> None:
    """Print the version and end, if that is asked for."""
    if asked:
        typer.echo(f"privrep {privrep.__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn what the models of many people have in common, from a table with several rows of each person, so that what
    is published protects each of them: differential privacy for all rows of a person.

    \b
    The commands in their order:
      1. privrep bounds people.parquet --user who --label y
         writes bounds.toml; fill in what you know of the columns
      2. privrep fit people.parquet --user who --label y --bounds bounds.toml --epsilon 1
         writes release/public, which may be published, and release/private, which may not
      3. privrep show release/public/release.json
         prints what was released, and whether sharing helps
      4. privrep predict release/public/release.json new.csv --user who
         predicts the label of new rows
      5. privrep personalise release/public/release.json others.csv --user who --label y
         makes models of people who took no part
      6. privrep audit release
         checks that a release states what its ledger gives, and says what an auditor cannot see
    Before there is a table, privrep advise says which method to use for how many people.
    """


TABLE = Annotated[Path, typer.Argument(help="Parquet or CSV, or a folder of Parquet files; rows in any order.")]
USER = Annotated[str, typer.Option(help="Column with the user of each row.")]
PREDICTED_AT_ONCE = 2**18
"""Numbers in the rows that are predicted at once; an id counts as 32."""
USUAL_SIGNAL = 0.5
"""Share of the variance of labels that heads explain, by default."""
AUDIT = """\
an accountant finds this statement of the {} releases in the file. The ledger, the report, the prior and
the advice are those that were written with it, and so are {:,} heads. These files cannot show that sums were clipped
and noise was drawn as the ledger says, that nothing else left the table, how many users it has, or a change by somebody
who made the hashes anew."""
"""What an audit finds, and what files cannot show."""
ELSEWHERE = {"structure", "kinds", "feature_bounds", "label_bounds", "unit", "users", "unseen", "heads"}
"""Parameters of the estimator that are no options of `fit`: bounds and --user replace them, or they are for Python."""
LABEL = Annotated[str, typer.Option(help="Column of the label.")]
RANK_IN_DOUBT = "One too low is ruinous for every method, one too high costs little."


def command(function: Callable) -> Callable:
    """Make a function a command that reports errors of the user (status 2), warnings and interrupts (status 130) in one
    line each."""

    def warned(message: Warning, *_) -> None:
        typer.echo(f"privrep: {message}", err=True)

    @app.command()
    @wraps(function)
    def wrapped(*arguments, **options):
        try:
            # These signals end as an interrupt does: half-written files are removed.
            for ends in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
                signal.signal(ends, signal.default_int_handler)
            with warnings.catch_warnings():
                warnings.showwarning = warned
                return function(*arguments, **options)
        except (ValueError, OSError, MemoryError) as error:
            if isinstance(error, BrokenPipeError):
                typer.echo()  # raises it again, and so ends the command, where the reader of the output is gone
            text = str(error) or "there is too little memory"
            if isinstance(error, OSError) and error.filename:
                text = f"{error.filename}: {error.strerror}"
            if isinstance(error, pa.ArrowException):  # Arrow's message may quote rows
                text = f"{type(error).__name__} of Arrow, which may quote rows and is not shown"
            typer.echo(f"privrep: {' '.join(text.split())}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("privrep: interrupted; nothing is written, but a fit that had begun is in the journal", err=True)
            raise typer.Exit(130) from None

    return wrapped


@command
def bounds(
    table: TABLE,
    user: USER,
    label: LABEL,
    together: Annotated[
        list[str] | None, typer.Option(help="Pattern of columns that have the same bounds, such as 'item_*'.")
    ] = None,
    out: Path = Path("bounds.toml"),
) -> None:
    """Write a template of bounds: names and kinds of the columns, and no number of the data.

    \b
    Example: privrep bounds people.parquet --user who --label y --together 'item_*'
    """
    found = {column.name: column.type for column in columns_of(files_of(table)[0])}
    for name in (user, label):
        if name not in found:
            raise ValueError(f"{table} has no column {name!r}; it has {', '.join(map(repr, found))}")
    lines = [
        "# Fill in what you know of each column without a look at the data: it is taken as public.",
        "# Values beyond a range count as the nearest; a level that is not listed counts as none.",
        "# A name with * stands for all columns that fit it and have no entry of their own.",
        "",
        "[label]",
        *blanks("number"),
    ]
    left_out = {name: DATES for name, type_ in found.items() if pa.types.is_temporal(type_)}
    left_out |= dict.fromkeys(filter(INDEX.fullmatch, found), "is an index of pandas")
    lines += [f"# {name!r} is left out: it {why}" for name, why in left_out.items() if name not in (user, label)]
    features = [name for name in found if name not in (user, label, *left_out)]
    pattern_of = expanded("--together", {pattern: pattern for pattern in together or ()}, features)
    entries: dict[str, set[str]] = {}
    for name in features:
        entries.setdefault(pattern_of.get(name, name), set()).add(kind_in(found[name]))
    for name, kinds in entries.items():
        if len(kinds) > 1:
            raise ValueError(f"--together {name}: its columns are of different kinds, {', '.join(sorted(kinds))}")
        (kind,) = kinds
        hint = '  # or "flag", for 0 and 1' if kind == "number" else ""
        lines += ["", f"[features.{quoted(name)}]", f'kind = "{kind}"{hint}', *blanks(kind)]
    if out.exists():
        raise ValueError(f"{out} is there already; choose another name with --out, or remove it")
    write_whole(out, "\n".join(lines) + "\n")
    typer.echo(f"{out}: fill it in, and give it to privrep fit; columns that you remove are not used")


def kind_in(type_: pa.DataType) -> str:
    """Return the kind that a column's type suggests."""
    if pa.types.is_boolean(type_):
        return "flag"
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return "number" if any(is_kind(type_) for is_kind in numbers) else "category"


def blanks(kind: str) -> list[str]:
    """Return a line to fill in for each number or text that a kind needs."""
    return [f"# {name} =  # {meaning}" for name, meaning in KINDS[kind].columns.items()]


def quoted(name: str) -> str:
    """Return a name as a key of TOML."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_option(one: Field, type_: Any) -> inspect.Parameter:
    """Return a parameter of the estimator as an option of a command; epsilon must be given."""
    meaning, names = one.metadata["meaning"], ["--seed"] if one.name == "random_state" else []
    option = typer.Option(*names, help=f"{meaning[0].upper()}{meaning[1:]}.")
    default = inspect.Parameter.empty if one.name == "epsilon" else one.default
    annotation = Annotated[type_, option]
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def with_parameters(command: Any) -> Any:
    """Give a command the parameters of the estimator as options, in place of `**parameters`."""
    signature, types = inspect.signature(command, eval_str=True), get_type_hints(PrivateRepresentation)
    options = [as_option(one, types[one.name]) for one in declared(PrivateRepresentation) if one.name not in ELSEWHERE]
    *first, out, _ = signature.parameters.values()
    command.__signature__ = signature.replace(parameters=[*first, *options, out])
    return command


@command
@with_parameters
def fit(
    table: TABLE,
    user: USER,
    label: LABEL,
    bounds: Annotated[Path, typer.Option(help="File of bounds; begin it with privrep bounds.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("release"),
    **parameters: Any,
) -> None:
    """Release a prior of the users' heads, say whether sharing helps, and fit the heads.

    \b
    Example: privrep fit people.parquet --user who --label y --bounds bounds.toml --epsilon 1
    """
    names = columns_of(files_of(table)[0]).names
    schema = from_toml(bounds, [name for name in names if name not in (user, label)])
    TableFile(table, user, label, schema)  # an error on a column comes before one on the folder
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ValueError(f"{out} is there already; choose another folder with --out, or remove it")
    model = PrivateRepresentation(**parameters)
    if sys.stderr.isatty():
        typer.echo(f"reading {table}, then some ten passes over its users", err=True)
    with in_one_move(out, folder=True) as folder:  # made first: no budget is spent if it cannot be written
        model.fit_table(table, user=user, label=label, schema=schema)
        write(model, folder)
    typer.echo(f"{model.privacy_}\n{model.journal_['text']}\n{advice_line(model.advice_)}", nl=False)
    typer.echo(f"{out}: {PUBLIC} may be published; {PRIVATE} may not")


@command
def personalise(
    release: Annotated[Path, typer.Argument(help="release.json of a fit.")],
    rows: TABLE,
    user: USER,
    label: LABEL,
    out: Annotated[Path, typer.Option(help="Parquet file of the heads.")] = Path(PRIVATE) / HEADS,
) -> None:
    """Fit heads of any users from their own rows with a released prior; nothing is released.

    \b
    Example: privrep personalise release/public/release.json others.csv --user who --label y
    """
    if out.exists():
        raise ValueError(f"{out} is there already; choose another name with --out, or remove it")
    shared, contents = read_release(release)
    users = ScatteredUsers.of(rows, user=user, label=label, schema=shared.schema, max_samples=shared.max_samples)
    ids = users.ids.to_numpy(zero_copy_only=False)
    write_heads(local_heads(shared, ids, users), shared, contents["sha256"], out)
    typer.echo(f"{out}: heads of {len(ids):,} users; they are not private")


@command
def predict(
    release: Annotated[Path, typer.Argument(help="release.json of a fit.")],
    rows: TABLE,
    user: USER,
    heads: Annotated[
        Path | None, typer.Option(help="Parquet file of heads; by default that of the fit, beside the release.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Parquet file of the predictions.")] = Path("predictions.parquet"),
) -> None:
    """Predict labels of rows by their users' heads, or else by the shared mean, in the order of the rows, with the
    standard deviation of a new label.

    \b
    Example: privrep predict release/public/release.json new.csv --user who --out predictions.parquet
    """
    if out.exists():
        raise ValueError(f"{out} is there already; choose another name with --out, or remove it")
    shared, contents = read_release(release)
    local = read_heads(heads or release.parent.parent / PRIVATE / HEADS, shared, contents["sha256"])
    with_sd, odd = not math.isnan(shared.error), Oddities()
    columns = {"user": pa.string(), "prediction": pa.float64()} | ({"sd": pa.float64()} if with_sd else {})
    table = TableFile(rows, user, None, shared.schema, max(PREDICTED_AT_ONCE // (32 + shared.schema.dim), 1))

    def predictions(part: pa.RecordBatch) -> pa.Table:
        place = local.places(part[user].to_numpy(zero_copy_only=False))
        odd.rows += len(part)
        odd.add("users", HEADLESS, place < 0)
        found = predicted(shared, local, part.to_pandas(), place, with_sd, odd)
        return pa.table([part[user], *found[: len(columns) - 1]], pa.schema(columns))

    write_private(pa.schema(columns), map(predictions, filter(len, table.batches())), out)
    odd.tell()
    typer.echo(f"{out}: {odd.rows:,} predictions; they are not private")


@command
def show(release: Annotated[Path, typer.Argument(help="release.json of a fit.")]) -> None:
    """Print the contents of a release.

    \b
    Example: privrep show release/public/release.json
    """
    shared, read = read_release(release)
    spectrum = ", ".join(f"{value:.3g}" for value in shared.spectrum[:10])
    typer.echo(Summary.of(shared, read["privacy"], read["advice"]))
    typer.echo(f"Spectrum of the prior over the label noise: {spectrum}{', ...' if len(shared.spectrum) > 10 else ''}")


@command
def audit(
    out: Annotated[Path, typer.Argument(help="Folder of a fit; of its private folder nothing is needed.")],
) -> None:
    """Add up the releases of a fit, hold its statement against them, and check that its files belong together.

    \b
    Example: privrep audit release
    """
    read, heads = audited(out)
    typer.echo(f"{read['privacy']}\n\n{out}: {AUDIT.format(len(read['privacy']['releases']), heads)}")


@command
def advise(
    dim: Annotated[int, typer.Option(help="Features, d.")],
    rank: Annotated[int, typer.Option(help=f"Rank of the subspace of the heads, k. {RANK_IN_DOUBT}")],
    users: Annotated[int | None, typer.Option(help="Users, n.")] = None,
    samples: Annotated[int | None, typer.Option(help="Rows of each user, m.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Budget, for replacing a user.")] = None,
    target: Annotated[float | None, typer.Option(help="Excess risk over that of predicting zero, below 1.")] = None,
    delta: Annotated[float | None, typer.Option(help="By default 1/n^2.")] = None,
    label_noise: Annotated[float | None, typer.Option(help="Over the scale of a coordinate of a head.")] = None,
    signal: Annotated[float | None, typer.Option(help="In place of label noise: R^2 that heads explain.")] = None,
    plot: Annotated[Path | None, typer.Option(help="SVG file of risks against users.")] = None,
) -> None:
    """Advise a method from sizes alone; one of users, samples, epsilon and target may be left out and is solved for.

    Risks are shares of that of predicting zero. low and high hold 95 of 100 runs.

    \b
    Example: privrep advise --users 5000 --samples 20 --dim 50 --rank 2 --epsilon 1
    """
    from privrep.theory import advise as advice  # laws and statistics, which no other command needs

    if plot is not None:
        try:
            from privrep.estimator.commands.curves import draw_curves
        except ImportError as error:
            raise ValueError(f"--plot needs the package {error.name}: pip install 'privrep[plot]'") from None

    assumed = label_noise is None and signal is None
    signal = USUAL_SIGNAL if assumed else signal
    found = advice.advise(
        dim=dim,
        rank=rank,
        users=users,
        samples=samples,
        epsilon=epsilon,
        target=target,
        delta=delta,
        label_noise=label_noise,
        signal=signal,
    )
    at = found.setting
    typer.echo(f"label noise: {at.noise:.4g}" + (f", for a signal of {signal}, which is assumed" if assumed else ""))
    typer.echo(f"delta: {at.spent:.3g}" + (", which is 1/n^2" if delta is None else ""))
    for name, value in found.solved.items():
        typer.echo(f"{name}: {value:.4g}")
    if target is None and not found.solved:
        typer.echo("target: none below 1; here no method is sure to do better than predicting zero")
    typer.echo(found.table.to_string(float_format="{:.3g}".format, na_rep=""))
    best = found.recommended
    typer.echo(f"\nUse {best}." + (f" By law as good: {', '.join(found.equals)}." if found.equals else ""))
    typer.echo(f"Check it by simulation:\n\n{found.checks[best]}\n\nFit your table:\n\n{found.fits[best]}")
    if plot is not None:
        draw_curves(found.setting, plot)
