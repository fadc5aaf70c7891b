import {describe, expect, it} from 'vitest'
import {RfaError} from '../../../../src/errors.js'
import type {NextTurn} from '../../../../src/experiments/experiment.js'
import {
  answer,
  type CheckTask,
  errorOf,
  type Line,
  type PlanTask,
  pacer,
  type Sign,
  type Skills,
  type Turn,
  type TurnOver,
} from '../../../../src/runner/workers/protocol.js'
import {sweep} from '../../../helpers/plans.js'
import {jobFor} from '../../../helpers/runner/jobs.js'

const {cell} = jobFor('ok')
const request = {id: 5, experiment: 'variance', cell, context: {threadShare: 2}}
const plan = sweep()
const refused = () => Promise.reject(new Error('not asked for'))
/** Nobody else computes. */
const alone: Pick<Line, 'turn'> = {turn: async id => ({id, next: 'alone'})}

const skilled = (skills: Partial<Skills>): Skills => ({
  run: refused,
  prepare: refused,
  check: refused,
  profile: refused,
  ...skills,
})

describe('answer', () => {
  it('gives the outcome of the cell, by the id of the request', async () => {
    const outcome = {status: 'skipped', reason: 'no'} as const
    const run: Skills['run'] = async asked => {
      expect(asked).toBe(request)
      return outcome
    }
    expect(await answer(request, skilled({run}))).toEqual({id: 5, outcome})
  })

  it.each([
    ['the code of an RfaError', new RfaError('BAD_FILE', 'text'), 'BAD_FILE', 'text'],
    ['CELL_CRASHED for other errors', new TypeError('text'), 'CELL_CRASHED', 'text'],
    ['CELL_CRASHED for anything thrown', 'text', 'CELL_CRASHED', 'text'],
    [
      'the likely cause where memory could not be had',
      new Error('Resource temporarily unavailable'),
      'CELL_CRASHED',
      'Resource temporarily unavailable; probably too little memory: on the machine, or because of a limit such as ulimit -v',
    ],
  ])('gives %s', async (_, thrown, code, message) => {
    const reply = await answer(request, skilled({run: () => Promise.reject(thrown)}))
    expect(reply).toEqual({id: 5, error: {code, message}})
  })

  it('gives the preparation of a plan, and that its input was read', async () => {
    const prepared = {
      ...{plan, jobs: [], threading: 'any' as const, notes: ['one'], warnings: ['two']},
      ...{serves: true, heldBytes: 7},
    }
    const prepare: Skills['prepare'] = async ({plan: asked, force}) => {
      expect([asked, force]).toEqual([plan, true])
      return prepared
    }
    expect(await answer({id: 7, plan, force: true}, skilled({prepare}))).toEqual({id: 7, prepared})
    const check: Skills['check'] = async asked => expect(asked).toBe(plan)
    expect(await answer({id: 8, check: plan}, skilled({check}))).toEqual({id: 8, done: true})
  })
})

describe('a cell on its way', () => {
  it('says how long it still needs, at the pace since its first step', async () => {
    const clock = {ms: 0}
    const told: number[] = []
    const onStep = pacer(
      ({leftMs}) => void told.push(leftMs),
      () => clock.ms,
    )
    const step = (ms: number, done: number) => {
      clock.ms = ms
      onStep(done, 10)
    }
    step(9000, 1) // what came before the first step is no pace of steps
    expect(told).toEqual([])
    step(9300, 2)
    expect(told).toEqual([8 * 300])
    step(9400, 3) // too soon after the last word
    step(9499, 4)
    expect(told).toHaveLength(1)
    step(10_000, 6)
    expect(told).toEqual([2400, (4 * 1000) / 5])
  })

  it('reports it after the first step where the steps began at 0', () => {
    const told: number[] = []
    const clock = {ms: 0}
    const onStep = pacer(
      ({leftMs}) => void told.push(leftMs),
      () => clock.ms,
    )
    clock.ms = 3000 // start and warm-up
    onStep(0, 10)
    clock.ms = 3500
    onStep(1, 10)
    expect(told).toEqual([9 * 500])
  })

  it('reports it under the number of its request', async () => {
    const signs: unknown[] = []
    const run: Skills['run'] = async (_, {onStep}) => {
      onStep(1, 3)
      await new Promise(resolve => setTimeout(resolve, 250))
      onStep(2, 3)
      return {status: 'skipped', reason: 'no'}
    }
    await answer(request, skilled({run}), {...alone, send: sign => void signs.push(sign)})
    expect(signs).toEqual([{id: 5, leftMs: expect.any(Number)}])
  })

  it('gives up its turn, and counts no time of others', async () => {
    const said: (Sign | TurnOver)[] = []
    const turns: NextTurn[] = []
    const run: Skills['run'] = async (_, {onStep, yieldTurn}) => {
      onStep(1, 3)
      turns.push(await yieldTurn())
      await new Promise(resolve => setTimeout(resolve, 250))
      onStep(2, 3)
      return {status: 'skipped', reason: 'no'}
    }
    const turn = async (id: number): Promise<Turn> => {
      await new Promise(resolve => setTimeout(resolve, 1000))
      return {id, next: 'after others'}
    }
    await answer(request, skilled({run}), {turn, send: message => void said.push(message)})
    expect(turns).toEqual(['after others'])
    expect(said).toEqual([
      {id: 5, turnOver: true},
      {id: 5, leftMs: expect.any(Number)},
    ])
    expect((said[1] as Sign).leftMs).toBeLessThan(1000) // it took 250 for a step, whatever the others took
  })

  it('goes on at once where nobody else computes', async () => {
    const run: Skills['run'] = async (_, {yieldTurn}) => ({
      status: 'skipped',
      reason: await yieldTurn(),
    })
    expect(await answer(request, skilled({run}))).toMatchObject({
      outcome: {reason: 'alone'},
    })
  })
})

describe('a profile', () => {
  it('is begun and written when the worker is told to', async () => {
    const steps: unknown[] = []
    const profile: Skills['profile'] = async step => void steps.push(step)
    expect(await answer({id: 1, profile: 'start'}, skilled({profile}))).toEqual({id: 1, done: true})
    await answer({id: 2, profile: {path: 'file'}}, skilled({profile}))
    expect(steps).toEqual(['start', {path: 'file'}])
  })
})

describe('an error that stands in the way of a plan', () => {
  /** As the other process has it. */
  const arrived = async (thrown: unknown, task: PlanTask | CheckTask = {plan}) => {
    const fail = () => Promise.reject(thrown)
    const reply = await answer({id: 3, ...task}, skilled({prepare: fail, check: fail}))
    const sent = JSON.parse(JSON.stringify(reply))
    expect(Object.keys(sent)).toEqual(['id', 'refusal'])
    return errorOf(sent.refusal)
  }

  it('is the same in the other process', async () => {
    const error = new RfaError('BACKEND_MISSING', 'text', {suggestions: ['a', 'b']})
    for (const task of [{plan}, {check: plan}]) {
      const {code, message, suggestions} = (await arrived(error, task)) as RfaError
      expect({code, message, suggestions}).toEqual({
        code: 'BACKEND_MISSING',
        message: 'text',
        suggestions: ['a', 'b'],
      })
    }
  })

  it('is not a fault where memory could not be had', async () => {
    expect(await arrived(new Error('std::bad_alloc'))).toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringMatching(/^std::bad_alloc; probably too little memory/),
      suggestions: [expect.stringContaining('ulimit -v')],
    })
  })

  it('keeps its stack where it is a fault, and may be anything', async () => {
    const fault = new TypeError('text')
    expect(await arrived(fault)).toMatchObject({message: 'text', stack: fault.stack})
    expect(await arrived(fault)).not.toBeInstanceOf(RfaError)
    expect(await arrived('text')).toMatchObject({message: 'text'})
  })
})
