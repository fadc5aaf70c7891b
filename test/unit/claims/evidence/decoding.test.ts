import {beforeAll, describe, expect, it} from 'vitest'
import type {ClaimPlan, ClaimVerdict, FollowRequest} from '../../../../src/claims/claim.js'
import {outcomes} from '../../../../src/claims/outcome.js'
import {claimsScreen} from '../../../../src/claims/report/screen.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {type BenchPlan, benchPlan} from '../../../../src/experiments/bench/schema.js'
import {openModel} from '../../../../src/model/index.js'
import {randomStream} from '../../../../src/random/index.js'
import {renderTerminal} from '../../../../src/report/terminal.js'
import {benchCells} from '../../../helpers/cells.js'
import {claimOf} from '../../../helpers/claims.js'
import {temporaryFolder} from '../../../helpers/folders.js'
import {decoded, noisyTurns, oneProcess, timedInTurns} from '../../../helpers/records/bench.js'

/** Time of a token in ns, and what each token before it adds. */
interface Cost {
  token: number
  more?: number
}

/** What is true of each method: exact attention reads what came before, the others do not. */
interface World {
  exact: Cost
  other: Cost
  /** Time of a token in a model in addition to its attention, in ns. Default: 0 */
  around?: number
  /** Time of a forward over T tokens, over T^2. */
  forward?: number
  /** Standard deviation of runs, as a share. */
  noise?: number
  /** Whether one process takes all turns. */
  alone?: boolean
  /** Methods that were timed. Default: all */
  only?: readonly string[]
}

async function recordsOf(plan: BenchPlan, world: World) {
  const {exact, other, around = 0, forward = 1, noise = 0.02, alone, only} = world
  const cells = (await benchCells(plan)).filter(({method}) => only?.includes(method) ?? true)
  return cells.map((cell, at) => {
    if (cell.mode === undefined) return timedInTurns(cell, forward * cell.seq_len ** 2, {}, noise)
    const runs = noisyTurns(randomStream(at, cell.method), noise)
    const own = cell.method === 'softmax' ? exact : other
    const cost = cell.model ? {...own, token: own.token + around} : own
    return decoded(cell, cost, alone ? oneProcess(runs.samples_ns) : runs, cell.lengths)
  })
}

const directory = temporaryFolder()
/** Plans of the runs that follow: they write a model. */
let following: [string, BenchPlan][]
beforeAll(async () => {
  const request: FollowRequest = {
    ...{effort: 'quick', seed: 0, directory},
    exportLayers: () => Promise.reject(new Error('nothing is exported')),
  }
  const h2 = await claimOf('H2')
  const after = (runs: ClaimRuns) => h2.following!(runs, request)
  following = benchPlans(await after(new ClaimRuns(new Map())))
  expect(await after(new ClaimRuns(new Map(following.map(([name]) => [name, []]))))).toEqual({})
})

function benchPlans(plans: Record<string, ClaimPlan>): [string, BenchPlan][] {
  return Object.entries(plans).map(([name, plan]) => [name, benchPlan.parse(plan)])
}

async function outcomeIn(id: string, world: World) {
  const claim = await claimOf(id)
  const own = benchPlans(await claim.plans({effort: 'quick', seed: 0}))
  const plans = claim.following ? [...own, ...following] : own
  const runs = await Promise.all(
    plans.map(async ([name, plan]) => [name, await recordsOf(plan, world)] as const),
  )
  const [found] = await outcomes([claim], new ClaimRuns(new Map(runs)), () => [])
  return found!
}

const growing = (token: number, more: number): Cost => ({token, more})
const flat = (token: number): Cost => ({token})

describe('claims about decoding', () => {
  it('are also measured in a model that reads all of it', async () => {
    const [[name, plan] = []] = following
    expect(name).toBe('model-decode')
    expect(plan).toMatchObject({mode: 'decode', seq_lens: [25, 50, 100, 512, 2048], layers: [0]})
    const {facts} = await openModel(plan!.model!.folder)
    expect(facts).toMatchObject({width: 512, heads: 8, headDim: 64, layers: 1, maxTokens: 2048})
  })

  it.each<[string, ClaimVerdict, World]>([
    // at 25 tokens alike, at 512 (1 + 2.56) times
    ['H1', 'depends', {exact: growing(1e4, 100), other: flat(1e4)}],
    ['H1', 'holds', {exact: flat(2e4), other: flat(1e4)}],
    ['H1', 'refuted', {exact: flat(1e4), other: flat(1e4)}],
    ['H1', 'inconclusive', {exact: flat(1.5e4), other: flat(1e4)}],
    ['H1', 'inconclusive', {exact: growing(1e4, 100), other: flat(1e4), noise: 2}],
    // 1 + 2048 / 2 x 1 % = 11.2
    ['H2', 'holds', {exact: growing(1e4, 100), other: flat(1e4)}],
    ['H2', 'refuted', {exact: growing(1e4, 15), other: flat(1e4)}],
    ['H2', 'refuted', {exact: growing(1e4, 400), other: flat(1e4)}],
    ['H2', 'inconclusive', {exact: growing(1e4, 29.3), other: flat(1e4)}],
    // all prefixes of T are T / 3 wholes: 784 / 3 x 784^2 x 10 over 784 x 5000 is 410, 3072^2 / 3 x 10 / 5000 is 6291
    ['H27', 'depends', {exact: growing(1e4, 100), other: flat(5e3), forward: 10}],
    ['H27', 'refuted', {exact: growing(1e4, 100), other: flat(5e3), forward: 1}],
    ['H27', 'holds', {exact: growing(1e6, 3e4), other: flat(5e3), forward: 10}],
    ['H27', 'inconclusive', {exact: growing(1e4, 100), other: flat(5e3), forward: 2.6}],
  ])('%s %s in %o', async (id, verdict, world) => {
    expect((await outcomeIn(id, world)).verdict).toBe(verdict)
  })

  it('tell the ratios of what was measured', async () => {
    const {quantities} = await outcomeIn('H27', {
      exact: growing(1e4, 100),
      other: flat(5e3),
      forward: 10,
      noise: 1e-6,
    })
    // behind the first of T tokens: (T - 1) (1e4 + 50 T) over (T - 1) 5e3
    const cached = [784, 3072].map(tokens => (1e4 + 50 * tokens) / 5e3)
    const anew = [784, 3072].map(
      tokens => (10 * tokens * (tokens + 1) * (2 * tokens + 1)) / 6 / ((tokens - 1) * 5e3),
    )
    for (const [at, wanted] of [...cached, ...anew].entries()) {
      // twelve runs within a millionth, of either
      expect(Math.abs(quantities[at]!.value! / wanted - 1)).toBeLessThan(1e-5)
    }
    expect(quantities.map(({expected}) => expected)).toEqual([317, 4462, 317, 4462])
  })

  it('say what a whole decoder gains, and do not rest on it', async () => {
    const world = {exact: growing(1e4, 100), other: flat(1e4), around: 1e5, noise: 1e-6}
    const outcome = await outcomeIn('H2', world)
    const {verdict, quantities, statement} = outcome
    expect(verdict).toBe('holds')
    // behind the first of T tokens: 1.1e5 + 50 T over 1.1e5
    const gain = quantities.find(({name}) => name.startsWith('time of a decoder'))!
    expect(Math.abs(gain.value! / ((1.1e5 + 50 * 2048) / 1.1e5) - 1)).toBeLessThan(1e-5)
    expect(gain.expected).toBeNull()
    const both =
      /judged by the speed-up of the attention alone: 11\.\dx \[.*\] at 2048 tokens; for a whole decoder: 1\.93x \[/
    expect(statement).toMatch(both)
    const screen = renderTerminal(claimsScreen([outcome]), {width: 80, colour: false})
    expect(screen).toContain('RFA decodes 12 times as fast: 11.2x at 2048 tokens')
    expect(screen.replaceAll(/\s+/g, ' ')).toMatch(both)
  })

  it('are not decided by one process', async () => {
    const world = {exact: growing(1e4, 100), other: flat(1e4), alone: true}
    expect(await outcomeIn('H2', world)).toMatchObject({
      verdict: 'inconclusive',
      statement: expect.stringContaining('times were taken in one process; it takes several'),
    })
  })

  it.each(['H1', 'H2', 'H27'])('%s stays open without times of the other method', async id => {
    const world = {exact: growing(1e4, 100), other: flat(1e4), only: ['softmax', 'softmax-online']}
    expect(await outcomeIn(id, world)).toMatchObject({
      verdict: 'inconclusive',
      statement: expect.stringMatching(/^there are no times of (rfa|elu)/),
    })
  })
})
