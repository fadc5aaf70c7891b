/** rfa.torch: held to the program for every method, option and form, and by itself. `npm run test:python`. */
import {readFileSync} from 'node:fs'
import {resolve} from 'node:path'
import {pathToFileURL} from 'node:url'
import {describe, expect, it} from 'vitest'
import {temporaryFolder} from '../helpers/folders.js'
import {PYTHON, python} from './python.js'

const folder = temporaryFolder()
const PROGRAM = [process.execPath, resolve('bin/run.js')]
/** A guard against hanging, in ms. */
const PATIENCE = 10 * 60_000

describe.runIf(PYTHON)('rfa.torch', {timeout: PATIENCE}, () => {
  it('computes what the program computes, to the rounding of float32', async () => {
    const library = pathToFileURL(resolve('dist/src/index.js')).href
    const argv = [resolve('test/python/torch_attention.py'), process.execPath, library]
    const said = await python(argv, folder)
    const rows = said
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as [title: string, program: number, single: number])
    expect(rows.length).toBeGreaterThan(70)
    const beyond = rows.filter(([, program, single]) => !(program <= 1 && single <= 1))
    expect(beyond).toEqual([])
  })

  it('has draws, forms, gradients and models that hold together', async () => {
    const said = await python([resolve('test/python/torch_modules.py'), ...PROGRAM], folder)
    const source = readFileSync('test/python/torch_modules.py', 'utf8')
    const actions = [...source.matchAll(/^def (?!module|close)(\w+)/gm)].map(([, name]) => name)
    expect(said.trim().split('\n')).toEqual(actions)
    expect(actions.length).toBeGreaterThan(9)
  })
})
