"""One file per study, of the same name: what its tables say, as Markdown and HTML for the report.

Each function takes tables and returns text. Its numbers are read from them, and so are the words that judge: where a
result can go either way, so does the sentence.
"""
