import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../src/backends/index.js'
import experiment from '../../../src/experiments/inputs/index.js'
import {inputsReport} from '../../../src/experiments/inputs/report/report.js'
import {inputsScreen} from '../../../src/experiments/inputs/report/screen.js'
import type {
  InputsPlan,
  InputsRecord,
  InputsResult,
} from '../../../src/experiments/inputs/schema.js'
import {planRun} from '../../../src/experiments/planned-run.js'
import {writeArrays} from '../../../src/inputs/files/index.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {firstOutcome} from '../../helpers/cells.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {madeBy} from '../../helpers/records/made-by.js'

beforeAll(() => useBackend('cpu'))

const folder = temporaryFolder()
const [HEADS, L, D] = [2, 5, 4]

/** Every token of a head is the same vector. */
function constant(
  vectors: readonly (readonly number[])[],
  scaleOf = (_token: number) => 1,
): NdArray {
  const data = vectors.flatMap(vector =>
    Array.from({length: L}, (_, token) => vector.map(x => x * scaleOf(token))).flat(),
  )
  return {shape: [1, HEADS, L, D], dtype: 'float32', data: Float32Array.from(data)}
}

const QUERY = [
  [3, 0, 0, 0],
  [0, 2, 0, 0],
]
const KEY = [
  [0, 0, 4, 0],
  [0, 1, 0, 1],
]

async function planOf(name: string, arrays: Record<string, NdArray>): Promise<InputsPlan> {
  const path = join(folder, `${name}.safetensors`)
  await writeArrays(path, arrays)
  const names = {query: 'q', key: 'k', value: 'v'}
  const input: InputsPlan['input'] = {kind: 'file', paths: [path], names}
  return {experiment: 'inputs', input, causal: false, seed: 0, backend: 'cpu'}
}

const ARRAYS = {q: constant(QUERY), k: constant(KEY), v: constant(KEY)}

async function heads(plan: InputsPlan): Promise<InputsResult['per_head']> {
  const outcome = await firstOutcome(plan)
  return ((outcome as {result: unknown}).result as InputsResult).per_head
}

describe('a look at an input', () => {
  it('finds norms, angles and entropies of equal tokens', async () => {
    const [apart, slanted] = await heads(await planOf('equal', ARRAYS))
    // beta = 1/2: |x|^2 = |q|^2 / 2; right angles add squares, and equal logits spread weight over all keys
    expect(apart!.statistics.query_norm2).toMatchReference(4.5, 12)
    expect(apart!.statistics.key_norm2).toMatchReference(8, 12)
    expect(apart!.statistics.sum_norm2).toMatchReference(12.5, 12)
    expect(apart!.angle_deg).toMatchReference(90, 12)
    expect(apart!.statistics.entropy_nats).toMatchReference(Math.log(L), 12)
    expect(slanted!.statistics.sum_norm2).toMatchReference(5, 12)
    expect(slanted!.angle_deg).toMatchReference(45, 12)
  })

  it('knows no angle of vectors that are zero, and none beyond 0 and 180 degrees', async () => {
    const zero = constant([
      [0, 0, 0, 0],
      [0.3, 0.7, 0.3, 0.1],
    ])
    const plan = await planOf('zero', {...ARRAYS, q: zero, k: zero})
    const [none, alike] = await heads(plan)
    expect(none!.angle_deg).toBeNull()
    expect(alike!.angle_deg).toBeGreaterThanOrEqual(0)
    // the cosine is off by some roundings of double numbers, the angle by their root
    expect(alike!.angle_deg).toBeLessThan(1e-5)
    expect(await shownOf(plan)).toMatch(/^ *0 +0 +0 +0 +- /m)
  })

  it('names the layer that failed, and why', async () => {
    const {input, causal, seed, backend} = await planOf('failed', ARRAYS)
    const record: InputsRecord = {
      schema: experiment.schema,
      key: 'key',
      cell: {layer: 3, input, causal, seed, backend},
      status: 'failed',
      error: {code: 'BAD_FILE', message: 'no such number'},
    }
    const shown = renderTerminal(inputsReport([record]), {width: 100, colour: false})
    expect(shown).toMatch(
      /^failed\.safetensors: bidirectional\n\n- layer 3 failed: no such number/m,
    )
  })

  it('leaves out what a mask hides', async () => {
    const hidden = (token: number) => (token === L - 1 ? 1000 : 1)
    const masked = {
      ...ARRAYS,
      q: constant(QUERY, hidden),
      k: constant(KEY, hidden),
      key_mask: {shape: [1, L], dtype: 'int32', data: Int32Array.from([1, 1, 1, 1, 0])} as NdArray,
    }
    const [head] = await heads(await planOf('masked', masked))
    expect(head!.statistics.query_norm2).toMatchReference(4.5, 12)
    expect(head!.statistics.key_norm2).toMatchReference(8, 12)
    expect(head!.statistics.max_entropy_nats).toMatchReference(Math.log(L - 1), 12)
  })

  it('takes the M of where attention looks, not that of the mean', async () => {
    // one query; keys of logits 0 and 4: nearly all attention is on the longer one
    const q: NdArray = {shape: [1, 1, 1, 1], dtype: 'float32', data: Float32Array.of(2)}
    const k: NdArray = {shape: [1, 1, 2, 1], dtype: 'float32', data: Float32Array.of(0, 2)}
    const [head] = await heads(await planOf('looks', {q, k, v: k}))
    expect(head!.statistics.sum_norm2).toBe(10)
    expect(head!.attended_sum_norm2).toBe(16)
  })

  it('has a cell for each layer, and none for layers that nobody has looked up', async () => {
    const layers = {'layers.3.q': ARRAYS.q, 'layers.3.k': ARRAYS.k, 'layers.3.v': ARRAYS.v}
    const plan = await planOf('layers', layers)
    const {jobs} = await planRun({...plan, layers: [3]})
    expect(jobs.map(({label}) => label)).toEqual(['heads of layer 3'])
    await expect(planRun({...plan, layers: 'all'})).rejects.toMatchObject({code: 'BAD_OPTION'})
  })

  it('is reported as a table of heads', async () => {
    const shown = await shownOf(await planOf('told', ARRAYS))
    expect(shown).toContain('2 heads, L=5, S=5, D=4, bidirectional')
    // exp(5) and exp(12.5)
    expect(shown).toMatch(/from 150 to\s+270,000 random vectors on/)
    expect(shown).toMatch(/^ *0 +4\.50 +8\.00 +12\.5 +90 +5\.00 +5\.00 +270,000$/m)
  })
})

describe('its first screen', () => {
  const recordOf = (layer: number | undefined, heads: number, start = 5): InputsRecord => {
    const cell = {input: SOME, causal: false, seed: 0, backend: 'cpu'} as const
    return {
      schema: experiment.schema,
      key: `key ${layer}`,
      cell: layer === undefined ? cell : {...cell, layer},
      status: 'completed',
      result: {
        ...{batch: 1, heads, head_dim: 16, query_len: 64, key_len: 64, logit_scale: 0.25},
        ...madeBy({backend: 'cpu', threads: 1}),
        per_head: Array.from({length: heads}, (_, head) => ({
          head,
          statistics: {
            ...{query_norm2: 3, key_norm2: 2, difference_norm2: 5, max_entropy_nats: Math.log(64)},
            ...{sum_norm2: start + head / 8, entropy_nats: Math.log(8 + head)},
          },
          angle_deg: 90 + head,
          attended_sum_norm2: start + 2 + head / 8,
        })),
      },
    }
  }
  const screen = (records: readonly InputsRecord[]) => {
    const lines = renderTerminal(inputsScreen(records), {width: 80, colour: false}).split('\n')
    expect(lines.length).toBeLessThanOrEqual(20)
    return lines.join('\n')
  }

  it('has a line for each head, as far as there is room', () => {
    expect(screen([recordOf(undefined, 3)])).toMatchInlineSnapshot(`
      "some.npz: 3 heads, L=64, S=64, D=16, bidirectional

      Positive features take 1,100 to 1,400 random vectors (M), by head, until the
      noise of a kernel entry is below its value for 95 % of the attention. s is the
      mean |q+k|^2/sqrt(D). Exact attention spreads its weight over 8.0 to 10 of 64
      keys.

      head    s      M  angle of q, k  keys
      ----  ---  -----  -------------  ----
         0  5.0  1,100             90   8.0
         1  5.1  1,200             91   9.0
         2  5.3  1,400             92    10"
    `)
    const many = screen([recordOf(undefined, 96)])
    expect(many).toMatch(/^The details have \d\d more heads\.$/m)
    expect(many).toMatch(/^ +0 .*^ +95 /ms)
  })

  it('has a line for each of several layers, from the least of its heads to the largest', () => {
    const layers = Array.from({length: 32}, (_, layer) => recordOf(layer, 12, 5 + layer / 4))
    expect(screen(layers)).toMatchInlineSnapshot(`
      "some.npz: 32 layers, 12 heads, L=64, S=64, D=16, bidirectional

      Positive features take 1,100 to 10,000,000 random vectors (M), by head, until
      the noise of a kernel entry is below its value for 95 % of the attention. s is
      the mean |q+k|^2/sqrt(D). Exact attention spreads its weight over 8.0 to 19 of
      64 keys.

      layer        s                     M  angle of q, k    keys
      -----  -------  --------------------  -------------  ------
          0  5.0-6.4           1,100-4,300         90-101  8.0-19
          4  6.0-7.4          3,000-12,000         90-101  8.0-19
          8  7.0-8.4          8,100-32,000         90-101  8.0-19
         12  8.0-9.4         22,000-87,000         90-101  8.0-19
         16   9.0-10        60,000-240,000         90-101  8.0-19
         19   9.8-11       130,000-500,000         90-101  8.0-19
         23    11-12     340,000-1,400,000         90-101  8.0-19
         27    12-13     940,000-3,700,000         90-101  8.0-19
         31    13-14  2,500,000-10,000,000         90-101  8.0-19

      The details have 23 more layers."
    `)
  })

  it('asks for the scale of logits that no model has', () => {
    const text = screen([recordOf(undefined, 2, 1e36)]).replaceAll(/\s+/g, ' ')
    expect(text).toMatch(/Logits are huge \(s, the mean .*, is 1\.0e36\): is their scale right\?/)
    expect(text).not.toContain('random vectors')
  })

  it('says nothing of an M in records that were made without', () => {
    const record = recordOf(undefined, 2) as Extract<InputsRecord, {status: 'completed'}>
    const per_head = record.result.per_head.map(own => ({...own, attended_sum_norm2: null}))
    const text = screen([{...record, result: {...record.result, per_head}}])
    expect(text).not.toContain('random vectors')
  })

  it('names layers that failed', () => {
    const failure = (layer: number): InputsRecord => ({
      ...recordOf(layer, 2),
      status: 'failed',
      error: {code: 'BAD_FILE', message: 'no such array'},
    })
    const shown = screen([recordOf(0, 2), failure(1), failure(2), failure(3)])
    expect(shown).toMatch(/^- layer 2 failed: no such array\n- 1 more layers? failed$/m)
    expect(screen([failure(1)])).toContain('- layer 1 failed: no such array')
    expect(screen([])).toBe('')
  })
})

const SOME: InputsPlan['input'] = {
  kind: 'file',
  paths: ['some.npz'],
  names: {query: 'q', key: 'k', value: 'v'},
}

/** What a run of a plan of one cell prints. */
async function shownOf(plan: InputsPlan): Promise<string> {
  const {jobs} = await planRun(plan)
  const {key, cell} = jobs[0]!
  const outcome = await firstOutcome(plan)
  const record = {schema: experiment.schema, key, cell, ...outcome} as InputsRecord
  return renderTerminal(inputsReport([record]), {width: 100, colour: false})
}
