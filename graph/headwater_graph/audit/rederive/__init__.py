"""The whole graph derived anew from its stored records alone, by the rules, as rows that the dump renders (specification 9).

Nothing that the settling wrote is looked at: runs' records, the records of jobs and datasets, JobEvents and DatasetEvents
go in. What a run tells is sorted outside memory by job and by dataset, and each job and each dataset is derived in one go,
so memory holds the facts of one of them at a time, besides what is current.

============  ================================================================================
``spill``     rows sorted outside memory
``facts``     what records and events tell, spilled by job, by dataset and by run
``folds``     a job's items, by moment, to its versions and what is current (specification 4, 6.5, 6.6)
``timelines``  a dataset's versions and reads, by moment (specification 5, 7)
``edges``     the current edges and columns of jobs (specification 6)
``graph``     the whole, as the scans of a store
``hidden``    what the dump doesn't show: node properties, and edges that only questions walk
============  ================================================================================
"""

from headwater_graph.audit.rederive.graph import RederivedGraph

__all__ = ["RederivedGraph"]
