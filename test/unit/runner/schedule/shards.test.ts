import {afterEach, describe, expect, it, vi} from 'vitest'
import type {SharedCost} from '../../../../src/experiments/experiment.js'
import {planRun} from '../../../../src/experiments/planned-run.js'
import type {Plan} from '../../../../src/results/record.js'
import {dealtCells, ofShard, shardsOf} from '../../../../src/runner/schedule/shards.js'
import {bench, sweep} from '../../../helpers/plans.js'
import {VARIANCE_PLAN} from '../../../helpers/records/variance.js'

afterEach(() => void vi.unstubAllEnvs())

const PLANS: [string, Plan][] = [
  ['error-sweep', sweep({backend: 'auto', scales: [1, 2, 3]})],
  ['bench', bench({backend: 'auto', threads: null, order: 'random'})],
  ['bench of a list', bench({backend: ['auto'], threads: null})],
  ['variance', {...VARIANCE_PLAN, backend: 'auto'}],
]

describe.each(PLANS)('the shards of %s', (_name, plan) => {
  it('have every cell once', async () => {
    const {jobs} = await planRun(plan)
    const shards = await shardsOf(plan, 3)
    const parts = [1, 2, 3].map(index => ofShard(jobs, shards, index))
    const keys = parts.flatMap(part => part.map(({key}) => key))
    expect(keys.sort()).toEqual(jobs.map(({key}) => key).sort())
  })

  it('are the same whatever backends and threads a machine has', async () => {
    const here = await shardsOf(plan, 4)
    vi.stubEnv('RFA_NO_NATIVE', '1')
    expect(await shardsOf(plan, 4)).toEqual(here)
    vi.unstubAllEnvs()
    // what `auto` and the number of processors would decide is decided beforehand
    const backend = Array.isArray(plan.backend) ? ['native' as const] : ('native' as const)
    const decided = {...plan, backend, ...('threads' in plan && {threads: 1})} as Plan
    expect(await dealtCells(plan)).toEqual(await dealtCells(decided))
  })
})

it('cells of one exact output have a context in common', async () => {
  const cells = await dealtCells(sweep())
  const {jobs} = await planRun(sweep())
  const contexts = new Map<string, Set<string>>()
  for (const [at, {cell}] of jobs.entries()) {
    const {scale, target, method} = cell as {scale: number; target: string; method: string}
    const [{id}] = cells[at]!.shared as [SharedCost]
    const own = target === 'raw' ? `${scale} raw` : `${scale} ${method}`
    contexts.set(id, (contexts.get(id) ?? new Set()).add(own))
  }
  expect([...contexts.values()].map(ones => [...ones].length)).toEqual([1, 1, 1, 1])
  expect(cells.every(({shared}) => shared![0]!.cost > 0)).toBe(true)
})
