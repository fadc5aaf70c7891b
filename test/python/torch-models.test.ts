/** rfa.torch in models of Transformers: what each model keeps, and what is refused. `npm run test:python`. */
import {readFileSync} from 'node:fs'
import {resolve} from 'node:path'
import {describe, expect, it} from 'vitest'
import {temporaryFolder} from '../helpers/folders.js'
import {PYTHON, python} from './python.js'

const folder = temporaryFolder()
/** A guard against hanging, in ms. */
const PATIENCE = 20 * 60_000

describe.runIf(PYTHON)('rfa.torch in models', {timeout: PATIENCE}, () => {
  it.each([
    ['keeps a method with each model, and refuses what features cannot hold', 'torch_models.py'],
    ['generates with a state of constant size what whole texts give', 'torch_cache.py'],
    ['exchanges some layers, takes learned parameters, and saves both', 'torch_tuned.py'],
    ['learns to compute what the original computes', 'torch_distil.py'],
  ])('%s', async (_, script) => {
    const path = resolve('test/python', script)
    const said = await python([path], folder)
    const source = readFileSync(path, 'utf8')
    const [, helpers] = /^run\(globals\(\)(.*)\)/m.exec(source)!
    const actions = [...source.matchAll(/^def (\w+)/gm)].map(([, name]) => name!)
    expect(said.trim().split('\n')).toEqual(
      actions.filter(name => !helpers!.includes(JSON.stringify(name))),
    )
  })
})
