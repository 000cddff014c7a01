"""The rules of the lineage graph, pure: no I/O, no clock. One file per chapter of the specification.

====================  =====================================================
``merge``             how two records of one thing become one (2.1 to 2.8, 6.8)
``facets``            reading known facets member by member (1.5)
``runs``              what a run record states: state, sides, moment (2, 3)
``job_versions``      the fold of runs and JobEvents into job versions (4)
``dataset_versions``  dataset versions: what they carry, their ids (5)
``columns``           column edges of a facet, both layouts (6.5)
``explicit_lineage``  the job facet ``lineage`` (6.6)
``horizon``           what retention removes and rejects (10)
``coalesce``          messages in, merged records out
====================  =====================================================
"""
