"""The topic kept outside Kafka: every message exactly as it came, in compressed files by day, and the way back.

===========  ==========================================================================================
``lines``    a message as one line of JSON, and back
``parts``    the names of the files: what is in each, and its checksum
``storage``  the port to where they lie: a folder, a bucket, or memory
``keeping``  the topic into files: restartable, nothing twice, nothing lost
``reading``  files back into messages; whether all are there and whole
``replay``   messages to a topic again
===========  ==========================================================================================
"""
