/** python -m rfa.export, and models of Transformers that lose with rfa.torch what rfa swap says. `npm run test:python`. */
import {resolve} from 'node:path'
import {describe, expect, it} from 'vitest'
import {temporaryFolder} from '../helpers/folders.js'
import {PYTHON, python} from './python.js'

const folder = temporaryFolder()
/** A guard against hanging, in ms. */
const PATIENCE = 10 * 60_000

describe.runIf(PYTHON)('folders of Transformers', {timeout: PATIENCE}, () => {
  it('are exported in one command, and swapped as rfa swap does', async () => {
    const argv = [resolve('test/python/export_folders.py'), process.execPath, resolve('bin/run.js')]
    const said = await python(argv, folder)
    const models = ['bert', 'gpt2', 'llama'].flatMap(name => [`${name}.safetensors`, name])
    const again = 'gpt2.safetensors' // in place of the one that was there
    const rest = [again, 'refusals', 'gpt2 swapped', 'llama swapped']
    expect(said.trim().split('\n')).toEqual([...models, ...rest])
  })
})
