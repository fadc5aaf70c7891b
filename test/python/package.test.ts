/** The Python package: what it does with arrays, what it refuses, and what its checkers say. `npm run test:python`. */
import {spawnSync} from 'node:child_process'
import {readFileSync, writeFileSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {temporaryFolder} from '../helpers/folders.js'
import {fetched} from '../install/tools.js'
import {PYTHON, python} from './python.js'

const folder = temporaryFolder()
/** A guard against hanging, in ms. */
const PATIENCE = 20 * 60_000

describe.runIf(PYTHON)('the package rfa', {timeout: PATIENCE}, () => {
  it('takes arrays of every library, and returns runs', async () => {
    const said = await python([resolve('test/python/package.py')], folder)
    const source = readFileSync('test/python/package.py', 'utf8')
    const actions = [...source.matchAll(/^def (?!errors)(\w+)/gm)].map(([, name]) => name)
    expect(said.trim().split('\n')).toEqual(actions)
    expect(actions.length).toBeGreaterThan(7)
  })

  it('answers wrong uses with typed exceptions, before a process starts', async () => {
    const said = await python([resolve('test/python/package_refusals.py')], folder)
    const [count, ...wrong] = said.trimEnd().split('\n')
    expect(wrong).toEqual([])
    expect(Number(count)).toBeGreaterThanOrEqual(60)
  })
})

describe.runIf(PYTHON)('runs that were damaged', {timeout: PATIENCE}, () => {
  it('are refused with the file, and a torn last line is left out', async () => {
    const said = await python([resolve('test/python/damaged_runs.py')], folder)
    expect(said).toBe('24\n')
  })
})

/** A Python with the checkers of `python/requirements-tools.txt`; `undefined` where it cannot be made. */
function toolsPython(): string | undefined {
  const {RFA_PYTHON: _, ...env} = process.env
  const script = resolve('scripts/python-environment.js')
  const argv = [script, resolve('python/requirements-tools.txt')]
  const {status, stdout, stderr} = spawnSync(process.execPath, argv, {env, encoding: 'utf8'})
  if (status !== 0 && status !== 3) throw new Error(stderr)
  return status === 0 ? stdout.trim() : undefined
}

describe.runIf(PYTHON)('checked by other programs, the package rfa', {timeout: PATIENCE}, () => {
  let tools: string | undefined
  beforeAll(() => {
    tools = toolsPython()
  }, PATIENCE)

  it('is clean and formatted for ruff', ({skip}) => {
    if (tools === undefined) return skip('no environment with ruff')
    for (const words of [['check'], ['format', '--check']]) {
      const argv = ['-m', 'ruff', ...words, '--config', 'python/pyproject.toml', 'python/rfa']
      const {status, stdout, stderr} = spawnSync(tools, argv, {encoding: 'utf8'})
      expect(status, `${stdout}${stderr}`).toBe(0)
    }
  })

  it('is clean for pyright', ({skip}) => {
    const found = fetched('pyright', 'pyright@1.1.414')
    if (typeof found === 'string') return skip(found)
    const argv = [join(found.modules, 'pyright', 'index.js'), '--pythonpath', PYTHON!]
    const {status, stdout} = spawnSync(process.execPath, argv, {
      cwd: resolve('python'),
      encoding: 'utf8',
    })
    expect(status, stdout).toBe(0)
  })

  it('gives tables to pandas and Polars, and figures to a notebook', async ({skip}) => {
    if (tools === undefined) return skip('no environment with pandas and nbconvert')
    const cell = (source: string) => ({
      ...{cell_type: 'code', execution_count: null, id: `cell-${source.length}`},
      ...{metadata: {}, outputs: [], source},
    })
    const notebook = {
      ...{nbformat: 4, nbformat_minor: 5, metadata: {}},
      cells: [
        cell(
          `import sys; sys.path.insert(0, ${JSON.stringify(resolve('python'))}); import rfa, numpy`,
        ),
        cell('q = numpy.random.default_rng(0).standard_normal((3, 1, 2, 64, 8)) / 2'),
        cell(
          "run = rfa.error_sweep(*q, methods=['favor-pos', 'elu'], num_features=[8, 16, 32], replicates=6)\nrun",
        ),
        cell('run.table[["method", "rel_l2_median"]].describe()'),
        cell("import pandas, sys; sys.modules['pandas'] = None; type(run.table)"),
      ],
    }
    const file = join(folder, 'sweep.ipynb')
    writeFileSync(file, JSON.stringify(notebook))
    const convert = ['-m', 'nbconvert', '--execute', '--to', 'notebook', '--output', 'done.ipynb']
    const {status, stderr} = spawnSync(tools, [...convert, file], {cwd: folder, encoding: 'utf8'})
    expect(status, stderr).toBe(0)
    const {cells} = JSON.parse(readFileSync(join(folder, 'done.ipynb'), 'utf8'))
    const shown = cells.map(({outputs}: {outputs: unknown}) => JSON.stringify(outputs))
    expect(shown[2]).toContain('<svg')
    expect(shown[2]).toContain('Error on arrays.safetensors')
    expect(shown[2]).toContain('cells in') // notes of the program
    expect(shown[3]).toContain('<table')
    expect(shown[4]).toContain('polars')
  })
})
