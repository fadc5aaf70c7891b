import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../src/backends/index.js'
import experiment from '../../../src/experiments/inputs/index.js'
import {inputsReport} from '../../../src/experiments/inputs/report/report.js'
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
    // 12.5 and 5 over ln 10
    expect(shown).toMatch(/from about 10\^2\.2 to\s10\^5\.4 random vectors on/)
    expect(shown).toMatch(/^ *0 +4\.50 +8\.00 +12\.5 +90 +5\.00 +5\.00 +10\^5\.4$/m)
  })
})

/** What a run of a plan of one cell prints. */
async function shownOf(plan: InputsPlan): Promise<string> {
  const {jobs} = await planRun(plan)
  const {key, cell} = jobs[0]!
  const outcome = await firstOutcome(plan)
  const record = {schema: experiment.schema, key, cell, ...outcome} as InputsRecord
  return renderTerminal(inputsReport([record]), {width: 100, colour: false})
}
