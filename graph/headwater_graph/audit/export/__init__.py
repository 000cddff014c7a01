"""OpenLineage events back from the graph: as many as it takes to tell again what its records hold.

===========  =======================================================================
``telling``  the events of one run, from its record
``rest``     what datasets were told beside runs and kept events
``whole``    all of a graph, or what a filter leaves of it
===========  =======================================================================
"""
