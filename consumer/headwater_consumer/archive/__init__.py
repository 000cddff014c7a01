"""An archive of the topic outside Kafka: every message unchanged, in compressed files by day, and its replay.

===========  ==========================================================================================
``lines``    a message as one line of JSON, and back
``parts``    the names of the files, which contain their offsets and checksums
``storage``  where files are stored: a folder, a bucket, or memory
``topic``    the topic as the archive reads it
``writer``   the topic into files: restartable, without duplicates and gaps
``reader``   files back into messages, and the check of all files
``replay``   messages to a topic again
===========  ==========================================================================================
"""
