"""OpenLineage events from the graph: enough of them to reproduce its records.

====================  ==============================================================
``reconstruct``       the events of one run, from its record
``remaining_facets``  dataset facets that no run and no stored event contains
``whole``             the events of a whole graph, or of the part that a filter selects
====================  ==============================================================
"""
