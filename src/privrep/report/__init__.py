"""The report: tables of a run in, one page out. Nothing here simulates or judges.

Numbers and verdicts come from the tables; the words around them are chosen by what the numbers say.

spelling   : numbers, names and counts as text.
html_pieces: tables, commands and downloads as HTML.
pictures   : figures as HTML.
sizes      : sizes of what was run, from the cells.
captions   : labels and captions of figures, sizes filled in.
badges     : verdicts as labels, and what they mean.
claims_table: the table of claims and its filter.
summary    : summary of all claims.
papers     : the papers and their errata.
run_record : the provenance of a run.
run_tables : reads the tables of a run, and writes the sections that need several of them.
findings   : what the tables of each study say.
page       : executes the notebook in workflow/notebooks and wraps it as one page.
"""
