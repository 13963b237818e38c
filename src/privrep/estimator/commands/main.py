"""The commands of privrep: from a table to a private prior, from a prior to heads, and advice from sizes alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from pyarrow import csv, parquet
from rich.console import Console

from privrep.estimator import PrivateRepresentation
from privrep.estimator.commands.release import HEADS, LOCAL, RELEASE, read_release, write, write_heads
from privrep.estimator.private_representation import LocalHeads, heads
from privrep.estimator.stated import from_toml
from privrep.users.scattered import ScatteredUsers
from privrep.users.schema import KINDS
from privrep.users.table_files import naming
from privrep.users.whole_files import in_one_move, write_whole

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
TABLE = Annotated[Path, typer.Argument(help="Parquet or CSV, or a folder of Parquet files; rows in any order.")]
USER = Annotated[str, typer.Option(help="Column with the user of each row.")]
USUAL_SIGNAL = 0.5
"""Share of the variance of labels that heads explain, by default."""
LABEL = Annotated[str, typer.Option(help="Column of the label.")]


def in_one_line(command: Callable) -> Callable:
    """Report errors of the user (status 2), warnings and interrupts (status 130) of a command in one line each."""

    def warned(message: Warning, *_) -> None:
        typer.echo(f"privrep: {message}", err=True)

    @wraps(command)
    def wrapped(*arguments, **options):
        try:
            with warnings.catch_warnings():
                warnings.showwarning = warned
                return command(*arguments, **options)
        except (ValueError, OSError, pa.ArrowException) as error:
            named = isinstance(error, OSError) and error.filename
            text = f"{error.filename}: {error.strerror}" if named else str(error)
            typer.echo(f"privrep: {' '.join(text.split())}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("privrep: interrupted; nothing is written, but a fit that had begun is in the journal", err=True)
            raise typer.Exit(130) from None

    return wrapped


def columns(path: Path) -> dict[str, pa.DataType]:
    """Return names and types of the columns of a table; of CSV as its first rows suggest."""
    first = min(path.glob("*.parquet"), default=None) if path.is_dir() else path
    if first is None or first.suffix not in (".parquet", ".csv"):
        raise ValueError(f"{path} is no .parquet or .csv file, and no folder of Parquet files")
    with naming(first):
        schema = parquet.read_schema(first) if first.suffix == ".parquet" else csv.open_csv(first).schema
        return {column.name: column.type for column in schema}  # an error here if a name is not valid text


@app.command()
@in_one_line
def bounds(table: TABLE, user: USER, label: LABEL, out: Path = Path("bounds.toml")) -> None:
    """Write a template of bounds: names and kinds of the columns, and no number of the data."""
    found = columns(table)
    for name in (user, label):
        if name not in found:
            raise ValueError(f"{table} has no column {name!r}; it has {', '.join(map(repr, found))}")
    if out.exists():
        raise ValueError(f"{out} is there already; choose another name with --out, or remove it")
    lines = [
        "# Fill in what you know of each column without a look at the data: it is taken as public.",
        "# Values beyond a range count as the nearest; a level that is not listed counts as none.",
        "",
        "[label]",
        *blanks("number"),
    ]
    for name, type_ in found.items():
        if name in (user, label):
            continue
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
        kind = "flag" if pa.types.is_boolean(type_) else "number" if number else "category"
        hint = '  # or "flag", for 0 and 1' if number else ""
        lines += ["", f"[features.{quoted(name)}]", f'kind = "{kind}"{hint}', *blanks(kind)]
    write_whole(out, "\n".join(lines) + "\n")
    typer.echo(f"{out}: fill it in, and give it to privrep fit; columns that you remove are not used")


def blanks(kind: str) -> list[str]:
    """Return lines for what is to be stated of a kind."""
    return [f"# {name} =  # {meaning}" for name, meaning in KINDS[kind].columns.items()]


def quoted(name: str) -> str:
    """Return a name as a key of TOML."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@app.command()
@in_one_line
def fit(
    table: TABLE,
    user: USER,
    label: LABEL,
    bounds: Annotated[Path, typer.Option(help="File of bounds; begin it with privrep bounds.")],
    epsilon: Annotated[float, typer.Option(help="Budget of the whole fit, for replacing all rows of one user.")],
    delta: Annotated[float | None, typer.Option(help="By default 1/n^2 for n users.")] = None,
    method: Annotated[str, typer.Option(help="prior, or unit_steps, which needs a rank.")] = "prior",
    rank: Annotated[int | None, typer.Option(help="Rank of the released prior; by default all of it.")] = None,
    max_samples: Annotated[int, typer.Option(help="Rows of a user that are used at most.")] = 64,
    seed: Annotated[
        int | None, typer.Option(help="For experiments alone: seed of noise that can be drawn again.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Where passes over users run: process, threads or dask.")] = "process",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of Dask, such as tcp://host:8786; by default one is started.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("release"),
) -> None:
    """Release a prior of the users' heads, say whether sharing helps, and fit the heads."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ValueError(f"{out} is there already; choose another folder with --out, or remove it")
    model = PrivateRepresentation(
        epsilon,
        delta,
        method=method,
        rank=rank,
        max_samples=max_samples,
        random_state=seed,
        engine=engine,
        scheduler=scheduler,
    )
    says = Console(stderr=True).status(f"reading {table}, then some ten passes over its users")
    with says, in_one_move(out, folder=True) as folder:  # made first: what cannot be written spends no budget
        model.fit_table(table, user=user, label=label, schema=from_toml(bounds))
        write(model, folder)
    typer.echo(f"{model.privacy_}\n{advice_line(model.advice_)}{out}: {RELEASE} may be published; {LOCAL} may not")


@app.command()
@in_one_line
def personalise(
    release: Annotated[Path, typer.Argument(help="release.json of a fit.")],
    rows: TABLE,
    user: USER,
    label: LABEL,
    out: Annotated[Path, typer.Option(help="Parquet file of the heads.")] = Path(LOCAL) / HEADS,
) -> None:
    """Fit heads of any users from their own rows with a released prior; nothing is released."""
    if out.exists():
        raise ValueError(f"{out} is there already; choose another name with --out, or remove it")
    shared, _ = read_release(release)
    users = ScatteredUsers.of(rows, user=user, label=label, schema=shared.schema, max_samples=shared.max_samples)
    ids = users.ids.to_numpy(zero_copy_only=False)
    write_heads(LocalHeads(ids, heads(shared.heads, users)), shared, out)
    typer.echo(f"{out}: heads of {len(ids):,} users; they are not private")


@app.command()
@in_one_line
def show(release: Annotated[Path, typer.Argument(help="release.json of a fit.")]) -> None:
    """Print the contents of a release."""
    shared, read = read_release(release)
    spectrum = ", ".join(f"{value:.3g}" for value in shared.spectrum[:10])
    typer.echo(
        f"{read['privacy']['statement']}\n{advice_line(read['advice'])}Features: {', '.join(shared.schema.features)}"
    )
    typer.echo(f"Spectrum of the prior over the label noise: {spectrum}{', ...' if len(shared.spectrum) > 10 else ''}")


@app.command()
@in_one_line
def advise(
    dim: Annotated[int, typer.Option(help="Features, d.")],
    rank: Annotated[int, typer.Option(help="Rank of the subspace of the heads, k.")],
    users: Annotated[int | None, typer.Option(help="Users, n.")] = None,
    samples: Annotated[int | None, typer.Option(help="Rows of each user, m.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Budget, for replacing a user.")] = None,
    target: Annotated[float | None, typer.Option(help="Excess risk over that of predicting zero.")] = None,
    delta: Annotated[float | None, typer.Option(help="By default n^-1.1.")] = None,
    label_noise: Annotated[float | None, typer.Option(help="Over the scale of a coordinate of a head.")] = None,
    signal: Annotated[float | None, typer.Option(help="In place of label noise: R^2 that heads explain.")] = None,
    plot: Annotated[Path | None, typer.Option(help="SVG file of risks against users.")] = None,
) -> None:
    """Advise a method from sizes alone; one of users, samples, epsilon and target may be left out and is solved for."""
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
    typer.echo(f"delta: {at.spent:.3g}" + (", which is n^-1.1" if delta is None else ""))
    for name, value in found.solved.items():
        typer.echo(f"{name}: {value:.4g}")
    typer.echo(found.table.drop(columns="series").to_string(float_format="{:.3g}".format, na_rep=""))
    typer.echo(f"\nUse {found.recommended}. Its series in a study's file:\n\n{found.table.series[found.recommended]}")
    typer.echo(f"Check it by simulation:\n\n{found.checks[found.recommended]}")
    if plot is not None:
        draw_curves(found.setting, plot)


def advice_line(advice: dict) -> str:
    """Return the advice of a fit in a line, empty for a method without advice."""
    if not advice:
        return ""
    return (
        f"Advice: {advice['text']}. Squared error of a left-out label, less that of own data: lower by "
        f"{advice['gain']:.3g} (95 % interval {advice['gain_low']:.3g} to {advice['gain_high']:.3g}); own data are off "
        f"by {advice['typical_error']:.3g} for a typical user, and have weight {advice['weight_of_own_data']:.2f}.\n"
    )
