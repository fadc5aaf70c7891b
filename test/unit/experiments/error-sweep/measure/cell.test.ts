/** Several sequences of several heads: each head is judged by its rows in all sequences, and by no other ones. */
import {join} from 'node:path'
import {beforeAll, expect, it} from 'vitest'
import {useBackend} from '../../../../../src/backends/index.js'
import type {ErrorSweepResult} from '../../../../../src/experiments/error-sweep/schema.js'
import {writeArrays} from '../../../../../src/inputs/files/index.js'
import type {NdArray} from '../../../../../src/inputs/nd-array.js'
import {hostNormals} from '../../../../helpers/arrays.js'
import {firstOutcome} from '../../../../helpers/cells.js'
import {temporaryFolder} from '../../../../helpers/folders.js'
import {method, sweep} from '../../../../helpers/plans.js'

beforeAll(() => useBackend('cpu'))

const folder = temporaryFolder()
const [B, H, L, D, DV] = [2, 3, 13, 7, 5]

/** Random `[B, H, L, dim]`; each head is larger than the last, so that no two have one error. */
function heads(name: string, dim: number): NdArray {
  const shape = [B, H, L, dim] as [number, number, number, number]
  const data = Float32Array.from(
    hostNormals(name, shape).data,
    (x, i) => x * (1 + (Math.floor(i / (dim * L)) % H)),
  )
  return {shape, dtype: 'float32', data}
}

/** One head of all sequences. */
function only(head: number, {shape: [, , , dim = 1], data}: NdArray): NdArray {
  const rows = Array.from({length: B}, (_, sequence) => {
    const start = (sequence * H + head) * L * dim
    return [...(data as Float32Array).subarray(start, start + L * dim)]
  })
  return {shape: [B, 1, L, dim], dtype: 'float32', data: Float32Array.from(rows.flat())}
}

async function resultOf(name: string, arrays: Record<string, NdArray>): Promise<ErrorSweepResult> {
  const path = join(folder, `${name}.safetensors`)
  await writeArrays(path, arrays, {})
  const input = {kind: 'file' as const, paths: [path], names: {query: 'q', key: 'k', value: 'v'}}
  const methods = [method('elu')]
  const outcome = await firstOutcome(
    sweep({input, methods, scales: [1], seq_lens: null, targets: ['raw'], replicates: 1}),
  )
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return outcome.result as ErrorSweepResult
}

it('groups errors of a batch by head', async () => {
  const arrays = {q: heads('q', D), k: heads('k', D), v: heads('v', DV)}
  const all = await resultOf('all', arrays)
  expect(all.per_head.map(({head}) => head)).toEqual([0, 1, 2])
  for (const [head, own] of all.per_head.entries()) {
    const picked = Object.entries(arrays).map(([name, array]) => [name, only(head, array)] as const)
    const alone = await resultOf(`head-${head}`, Object.fromEntries(picked))
    // a head computes the same bits beside others
    expect(own).toEqual({...alone.per_head[0]!, head})
    expect(all.replicate_metrics!.head_mse![head]).toEqual(alone.replicate_metrics!.head_mse![0])
  }
})
