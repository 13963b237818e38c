"""The report: tables of a run in, one page out. Nothing here simulates or judges.

Numbers and verdicts come from the tables; the words around them are chosen by what the numbers say.

wording    : numbers, names and counts as text.
markup     : tables, commands and downloads as HTML.
pictures   : figures as HTML.
sizes      : sizes of what was run, from the cells.
captions   : labels and captions of figures, sizes filled in.
verdicts   : the words of the verdicts, their meaning and their labels.
claim_rows : the table of claims and its filter.
outcome    : summary of all claims.
sources    : the papers and their errata.
record     : the provenance of a run.
run        : reads the tables of a run, and writes the sections that need several of them.
findings   : what the tables of each study say.
page       : executes the notebook in workflow/notebooks and wraps it as one page.
"""
