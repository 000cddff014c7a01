"""The whole graph, derived again from its stored records alone and returned as rows that the dump renders (specification 9).

Theory of operation: the graph is a function of its records. The consumer computes that function incrementally, in the order
in which messages arrive. This package computes it from scratch, in the order of moments, so that a comparison of the two
finds any error of the incremental algorithm. Its only input is the records of runs, jobs and datasets, JobEvents,
DatasetEvents, and what retention has kept; it reads no node or edge that the consumer derived.

1. ``facts`` reads every record once and writes its items to temporary files, by job, by dataset and by run.
2. The files are read back sorted by (job or dataset, moment). All items of a job are then adjacent and in order, so one
   pass of ``folds`` computes its versions, and one pass of ``timelines`` resolves all reads of a dataset.
3. Results are written to temporary files as well. Memory holds the items of one job or one dataset at a time, and the
   current version of each job.

==================  ==========================================================================
``spill``           rows sorted outside memory
``facts``           the content of records and events, by job, by dataset and by run
``folds``           a job's items, by moment, folded into versions (specification 4, 6.5, 6.6)
``timelines``       a dataset's versions and reads, by moment (specification 5, 7)
``edges``           the current edges and columns of jobs (specification 6)
``graph``           the whole graph, as the scans of a store
``internal_lines``  the content of the graph that the dump does not show
==================  ==========================================================================
"""

from headwater_graph.audit.rederive.graph import RederivedGraph

__all__ = ["RederivedGraph"]
