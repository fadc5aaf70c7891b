/** Plug-ins in Python: docs/your-estimator.md followed, and files with one fault each. `npm run test:python`. */
import {spawnSync} from 'node:child_process'
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {describe, expect, it} from 'vitest'
import {temporaryFolder} from '../helpers/folders.js'
import {PYTHON} from './python.js'

const folder = temporaryFolder()
/** A guard against hanging, in ms. */
const PATIENCE = 10 * 60_000

const page = readFileSync('docs/your-estimator.md', 'utf8')
const [map, windowed] = [...page.matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, code]) => code)

function rfa(words: string, env: NodeJS.ProcessEnv = {}) {
  const {status, stdout, stderr} = spawnSync(
    process.execPath,
    [resolve('bin/run.js'), ...words.split(' ')],
    {cwd: folder, encoding: 'utf8', env: {...process.env, COLUMNS: '200', ...env}},
  )
  return {status, said: stdout + stderr}
}

/** A small sweep of a file. */
function sweep(file: string, more = '', env: NodeJS.ProcessEnv = {}) {
  const input = '--generator gaussian --scales 0.2 --heads 2 --head-dim 8 --seq-len 32'
  const method = file.replace('.py', '').replaceAll('_', '-')
  const draws = '--num-features 32 --projections orth --replicates 3 --quiet'
  return rfa(
    `error-sweep --plugin ${file} --methods ${method} ${input} ${draws} -o ${method}${more}`,
    env,
  )
}

interface Swept {
  cell: {method: string; target: string}
  result: {rel_l2: {median: number}}
}
interface Timed {
  cell: {method: string; peer?: string}
  status: string
  result: {work_flops: number; gate: {rows: number}}
}

/** The records of a run with `--json`, after its notes. */
function recordsIn<Kind>(said: string): Kind[] {
  const {records}: {records: Kind[]} = JSON.parse(said.slice(said.indexOf('{')))
  return records
}

function write(name: string, text: string) {
  writeFileSync(join(folder, name), text)
  return name
}

/** A map by NumPy, with a body. */
const body = (lines: string) => `import numpy as np\n\ndef phi(x, projection):\n    ${lines}\n`
const ROWS = 'x @ projection.swapaxes(-1, -2)'

describe.runIf(PYTHON)('a map in Python', {timeout: PATIENCE}, () => {
  it('has the errors of the method that it states', () => {
    write('my_map.py', map!)
    const both =
      'error-sweep --plugin my_map.py --methods my-map,favor-pos --num-features 64 --projections orth --replicates 3 --quiet --generator gaussian --scales 0.2 --seq-len 64 --json'
    const {status, said} = rfa(both)
    expect(status, said).toBe(0)
    const records = recordsIn<Swept>(said)
    const errors = (method: string) =>
      records
        .filter(({cell}) => cell.method === method && cell.target === 'raw')
        .map(({result}) => result.rel_l2.median)
    expect(errors('my-map')).toHaveLength(1)
    // the same draws: sums of 66 products that round at random take |w||x| = 5 to 2 sqrt(66) 2^-24 5 of an output, which
    // is 8e-5 of an error of 6 %
    expect(Math.abs(errors('my-map')[0]! / errors('favor-pos')[0]! - 1)).toBeLessThan(1e-4)
  })

  it('passes the checks, gradients by autograd among them, and a biased one does not', () => {
    write('my_map.py', map!)
    const sound = rfa('check my_map.py --only gradients,shapes,unbiasedness')
    expect(sound.status, sound.said).toBe(0)
    expect(sound.said).toMatch(/^gradients +1 /m)
    write('biased.py', map!.replace('float = 0.5', 'float = 0.45'))
    const biased = rfa('check biased.py --only unbiasedness')
    expect(biased.status, biased.said).toBe(1)
    expect(biased.said).toContain('failed, kernel mean')
    write(
      'mixed.py',
      map!.replace('    return ', '    x = x + 0.1 * x.mean(1, keepdim=True)\n    return '),
    )
    const mixed = rfa('check mixed.py --only shapes')
    expect(mixed.status, mixed.said).toBe(1)
    expect(mixed.said).toContain('failed, heads alone')
    write('wrong_slope.py', map!.replace('share * x.square()', 'share * x.detach().square()'))
    const cut = rfa('check wrong_slope.py --only gradients')
    expect(cut.status, cut.said).toBe(1)
  })

  it('may be of NumPy, without gradients, and without random vectors', () => {
    write('rectified.py', body(`return np.maximum(${ROWS}, 0)`))
    const checked = rfa('check rectified.py --only gradients,shapes,facts')
    expect(checked.status, checked.said).toBe(0)
    expect(checked.said).toMatch(/^gradients +0 +1$/m)
    const plain = write('plain.py', 'import numpy as np\n\ndef phi(x):\n    return np.exp(x)\n')
    const {status, said} = rfa(
      `error-sweep --plugin ${plain} --methods plain --generator gaussian --seq-len 32 --quiet -o p`,
    )
    expect(status, said).toBe(0)
    const options = rfa('methods my-map --plugin my_map.py')
    expect(options.said).toMatch(/^share +0.5 +number/m)
  })

  it('is timed where PyTorch is, and refused elsewhere', () => {
    write('rectified.py', body(`return np.maximum(${ROWS}, 0)`))
    write('my_map.py', map!)
    write('windowed.py', windowed!)
    const plugins = ['rectified.py', 'my_map.py', 'windowed.py'].map(file => `--plugin ${file}`)
    const bench = `bench ${plugins.join(' ')} --seq-len 64 --heads 2 --head-dim 16 --num-features 16 --processes 1 --min-time 0 --quiet --json`
    const methods = 'rectified,my-map,windowed,favor-pos'
    for (const form of ['', ' --causal']) {
      const {status, said} = rfa(
        `${bench} --methods ${methods} --option my-map.share=0.4 --peers torch${form}`,
      )
      expect(status, said).toBe(0)
      const records = recordsIn<Timed>(said)
      const of = (name: string) => records.filter(({cell}) => cell.method === name)
      expect(of('favor-pos').map(({cell}) => cell.peer)).toEqual([undefined, 'torch'])
      for (const name of ['rectified', 'my-map', 'windowed']) {
        expect(of(name)).toMatchObject([
          {cell: {peer: 'torch'}, status: 'completed', result: {gate: {rows: 64}}},
        ])
      }
      expect(of('my-map')[0]!.result.work_flops).toBeGreaterThan(0)
      expect(of('windowed')[0]!.result.work_flops).toBe(0)
    }
    const {status, said} = rfa(`${bench} --methods rectified`)
    expect(status).toBe(2)
    expect(said).toContain('the peer that times methods in Python, got rectified without it')
  })

  it.each([
    ['raises.py', body('return x @ projection'), /ValueError: matmul.*raises\.py:4\)/],
    ['syntax.py', 'def phi(x, projection)\n', /SyntaxError: .*\(syntax\.py:1\)/],
    ['package.py', 'import nothing_here\n', /expected the package nothing_here.*pip install/s],
    ['nan.py', body(`return ${ROWS} * np.nan`), /expected finite features, got NaN/],
    ['axes.py', body(`return (${ROWS})[0]`), /expected a tensor \[B, H, n, F\]/],
    [
      'other.py',
      'def psi(x):\n    return x\n',
      /expected a function phi\(x, projection\) or attention\(query, key, value\), one of them, got psi/,
    ],
    [
      'both.py',
      'def phi(x):\n    return x\n\ndef attention(q, k, v):\n    return v\n',
      /one of them, got phi, attention/,
    ],
    ['two.py', 'def attention(query, key):\n    return key\n', /got attention\(query, key\)/],
    [
      'width.py',
      'import numpy\n\ndef attention(q, k, v):\n    return v[..., 1:]\n',
      // the sweep has values with a column of ones
      /expected out \[1, 2, 32, 9\], got \[1, 2, 32, 8\]/,
    ],
    ['kind.py', body('return [1.0]'), /expected phi to return a NumPy array, got list/],
    [
      'ends.py',
      `import os\n${body(`os.write(2, b"out of luck") and os._exit(3) if x.shape[2] > 1 else None; return ${ROWS}`)}`,
      /Python ended.*: out of luck \(.*ends\.py\)/,
    ],
    [
      'default.py',
      'def phi(x, projection, *, size=[1]):\n    return x\n',
      /a default of bool, int, float or str for size/,
    ],
    [
      'names.py',
      'def phi(x, projection, *, constructor=1.0):\n    return x\n',
      /arguments with other names, got constructor/,
    ],
    [
      'guard.py',
      'def phi(x, projection, *, denGuard=1.0):\n    return x\n',
      /arguments with other names, got denGuard/,
    ],
    [
      'fact.py',
      `unbiased_for = "everything"\n${body(`return ${ROWS}`)}`,
      /unbiased_for: expected another value/,
    ],
  ])('%s is told', (name, text, wanted) => {
    const {status, said} = sweep(write(name, text))
    expect(status, said).not.toBe(0)
    expect(said).toMatch(wanted)
  })

  it('needs Python, and options that it has', () => {
    write('my_map.py', map!)
    const none = sweep('my_map.py', '-none', {RFA_PYTHON: '/nope'})
    expect(none.said).toMatch(/expected \/nope to run, got .*ENOENT.*RFA_PYTHON=PATH/s)
    const option = rfa('error-sweep --plugin my_map.py --methods my-map --option my-map.shares=1')
    expect(option.said).toContain('did you mean share?')
  })

  it('may be a whole attention, which is swept and checked', () => {
    write('windowed.py', windowed!)
    const swept = rfa(
      'error-sweep --plugin windowed.py --methods windowed,softmax --option windowed.width=64 --generator gaussian --scales 0.3 --seq-len 64 --quiet --json -o windows',
    )
    expect(swept.status, swept.said).toBe(0)
    const records = recordsIn<Swept>(swept.said)
    const [own] = records.filter(({cell}) => cell.method === 'windowed')
    // a window of all tokens is softmax attention: rounded sums of at most 64 terms, relative to their size
    expect(own!.result.rel_l2.median).toBeLessThan(64 * 2 ** -24)
    const sound = rfa('check windowed.py')
    expect(sound.status, sound.said).toBe(0)
    expect(sound.said).toMatch(/^gradients +1 /m)
    write('leaks.py', windowed!.replace('if causal:', 'if causal and key_mask is not None:'))
    const leaks = rfa('check leaks.py --only laws')
    expect(leaks.status, leaks.said).toBe(1)
    expect(leaks.said).toContain('failed, causality')
    write('open.py', windowed!.replace('if key_mask is not None:', 'if False:'))
    const open = rfa('check open.py --only laws')
    expect(open.status, open.said).toBe(1)
    write(
      'slope.py',
      windowed!.replace(
        'attention(query, key, value, attn',
        'attention(query.detach(), key, value, attn',
      ),
    )
    const cut = rfa('check slope.py --only gradients')
    expect(cut.status, cut.said).toBe(1)
  })

  it('is an argument of rfa.error_sweep', () => {
    write('my_map.py', map!)
    mkdirSync(join(folder, 'by-package'), {recursive: true})
    const script = `import numpy as np, rfa
q, k, v = (np.random.default_rng(0).standard_normal((1, 2, 32, 8)) / 4 for _ in range(3))
run = rfa.error_sweep(q, k, v, plugin="my_map.py", methods="my-map", num_features=16, replicates=2, output="by-package/run", progress=False)
print([row["method"] for row in run.rows if row["target"] == "raw"])`
    const {stdout, stderr} = spawnSync(PYTHON!, ['-c', script], {
      cwd: folder,
      encoding: 'utf8',
      env: {...process.env, PYTHONPATH: resolve('python')},
    })
    expect(stdout, stderr).toMatch(/^\['my-map'/)
  })
})
