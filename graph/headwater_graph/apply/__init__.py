"""Applying a batch: its records are merged with the stored ones, and everything that follows by the rules is written.

There is no deferred work before and after each batch; work beyond a transaction's limits is stored as deferred work.
One file per step, in the order in which they run:

====================  ==========================================================================
``batch_writer``      a batch to transactions: portions, retries, what the store refuses
``merged``            rows of records to the content of a batch; nothing stored is needed
``run_changes``       runs as a batch changes them, and what it states about jobs and datasets
``transaction``       the steps of one transaction
``entities``          runs, jobs, datasets and their names: records merged with the stored ones
``version_changes``   which dataset versions appear and vanish
``version_writes``    dataset versions that appear, change and vanish (specification 5)
``version_reads``     which version each run reads (5.2, 5.3)
``current_versions``  which version is current, and whether a dataset is dropped (5.5, 7.1)
``folds``             job versions (specification 4); ``fold_writes`` writes the results
``lineage_sources``   runs and events that state explicit lineage or columns of a job
``current_graph``     the current graph: edges, explicit lineage, columns (specification 6)
``deferred``          work that a transaction leaves for later ones (specification 12)
====================  ==========================================================================
"""
