"""The rules of the lineage graph, pure: no I/O, no clock. One file per chapter of the specification.

==================  =======================================================
``join``            how two records of one thing become one (2.1 to 2.8, 6.8)
``facets``          reading known facets member by member (1.5)
``runs``            what a run tells: state, sides, moment, versions (2, 3, 5)
``job_versions``    the fold of a job's runs into versions (4)
``dataset_versions``  which version of a dataset a run reads (5)
``columns``         column edges of a facet, both layouts (6.5)
``explicit``        the job facet ``lineage`` (6.6)
``horizon``         what retention removes, keeps and refuses (7)
``coalesce``        messages in, joined records out
==================  =======================================================
"""
