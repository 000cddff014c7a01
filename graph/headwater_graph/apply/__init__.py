"""Settling a batch: what was told is joined with what is stored, and all that follows from it by the rules is written.

The graph is settled before and after each batch; work beyond a transaction's limits is written down as owed.
One file per kind of thing, in the order in which they run:

==============  ==============================================================================
``told``        rows of joined records to what this batch tells; nothing stored is needed
``changes``     runs as a batch changes them, and what it tells of jobs and datasets; ``hashes`` are the store's keys
``entities``    runs, jobs, datasets and their names: records joined with the stored ones
``versions``    dataset versions and who reads which (specification 5)
``folds``       job versions (specification 4); ``fold_writes`` writes their outcome
``lineage_sources``     who tells explicit lineage or columns of a job
``current``     the current graph: edges, explicit lineage, columns (specification 6)
``deferred``        work left by earlier transactions
==============  ==============================================================================
"""
