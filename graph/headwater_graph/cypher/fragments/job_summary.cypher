// Compute the summary of a job `j` with its current version `v` (or null) as JSON (see `store/node_summary.py`): null if a text
// in it has control characters. Each optional member begins with a comma; the first comma is removed.
CASE WHEN any(text IN [v.codeVersion] + coalesce(j.owners, []) WHERE text =~ '(?s).*[\u0000-\u001f].*') THEN null ELSE
  '["job","' + j.key + '",["' + replace(replace(j.namespace, '\\', '\\\\'), '"', '\\"') + '","'
    + replace(replace(j.name, '\\', '\\\\'), '"', '\\"') + '"],false,['
    + substring(
        CASE WHEN v.lineageUnknown THEN ',"lineage unknown"' ELSE '' END
        + CASE WHEN v.lastRunStreaming OR j.streaming THEN ',"streaming"' ELSE '' END
        + CASE WHEN v IS NULL THEN ',"no run yet"' ELSE '' END,
        1
      )
    + '],{'
    + substring(
        coalesce(',"version":"' + v.id + '"', '')
        + coalesce(',"since":"' + left(toString(v.validFrom), 19) + '.' + substring(toString(1000000 + v.validFrom.microsecond), 1) + 'Z' + '"', '')
        + coalesce(',"codeVersion":"' + replace(replace(v.codeVersion, '\\', '\\\\'), '"', '\\"') + '"', '')
        + coalesce(',"runs":' + toString(v.runs), '')
        + coalesce(',"lastRun":"' + replace(replace(v.lastRun, '\\', '\\\\'), '"', '\\"') + '"', '')
        + coalesce(',"lastRunAt":"' + left(toString(v.lastRunAt), 19) + '.' + substring(toString(1000000 + v.lastRunAt.microsecond), 1) + 'Z' + '"', '')
        + coalesce(',"lastRunState":"' + v.lastRunState + '"', '')
        + coalesce(
          ',"owners":[' + substring(reduce(names = '', owner IN j.owners | names + ',"' + replace(replace(owner, '\\', '\\\\'), '"', '\\"') + '"'), 1) + ']',
          ''
        ),
        1
      )
    + '}]'
END
