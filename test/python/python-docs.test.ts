/** docs/python.md does what it says: its Python runs, in one namespace. */
import {readdirSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {describe, expect, it} from 'vitest'
import {temporaryFolder} from '../helpers/folders.js'
import {PYTHON, python} from './python.js'

const folder = temporaryFolder()

/** What MLflow has: names, metrics and files of runs. */
const LOGGED = `import json, mlflow
client = mlflow.MlflowClient()
print(json.dumps([
    {"name": run.info.run_name, "metrics": run.data.metrics, "files": [file.path for file in client.list_artifacts(run.info.run_id)]}
    for run in client.search_runs(["0"])
]))`

describe.runIf(PYTHON)('docs/python.md', () => {
  it('has Python that runs and prints what it says', {timeout: 300_000}, async () => {
    const said = await python(
      [resolve('test/python/documented.py'), resolve('docs/python.md')],
      folder,
    )
    expect(said).toContain('Error on arrays.safetensors: 4 heads, 256 tokens, bidirectional')
    expect(said).toContain("UNKNOWN_NAME ['did you mean favor-pos?', 'rfa methods lists all']\n")
    expect(said).toContain('\nsweep.html\n')
    const printed = ['True', 'torch.Size([1, 100, 64])', 'torch.Size([1, 102])', 'True 6568']
    expect(said.trimEnd().split('\n').slice(-4)).toEqual(printed)

    const [logged] = JSON.parse(await python(['-c', LOGGED], folder))
    const rows = readdirSync(join(folder, 'results')).filter(name => name.startsWith('error-sweep'))
    expect(rows).toContain(logged.name)
    expect(Object.keys(logged.metrics).sort()).toEqual([
      ...['rel_l2/elu/none', 'rel_l2/favor-pos/iid', 'rel_l2/favor-pos/orth'],
      ...['rel_l2/rfa/iid', 'rel_l2/rfa/orth'],
    ])
    expect(logged.files).toContain('manifest.json')
    const [offline] = readdirSync(join(folder, 'wandb')).filter(name => /^offline-run/.test(name))
    const kept = readdirSync(join(folder, 'wandb', offline!))
    expect(kept.some(name => name.endsWith('.wandb'))).toBe(true)
  })
})
