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
  it('keeps a method with each model, and refuses what features cannot hold', async () => {
    const said = await python([resolve('test/python/torch_models.py')], folder)
    const source = readFileSync('test/python/torch_models.py', 'utf8')
    const helpers = ['loud', 'llama', 'off', 'refused', 'module']
    const actions = [...source.matchAll(/^def (\w+)/gm)].map(([, name]) => name!)
    expect(said.trim().split('\n')).toEqual(actions.filter(name => !helpers.includes(name)))
  })
})
