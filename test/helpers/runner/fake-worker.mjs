import {appendFileSync, existsSync} from 'node:fs'

/** A worker that does what the cell's method says. */
const result = () => ({
  backend: 'cpu',
  feature_dim: 13,
  kernel: `pid ${process.pid}`,
  expectation: 1,
  closed_form_variance: 2,
  closed_form_kurtosis: 1,
  calibration_pairs: null,
  without_effect: {},
  per_projection: [],
})
const completed = () => ({outcome: {status: 'completed', result: result()}})

/** Cells that wait for their turn. */
const waiting = new Map()
const yieldTurn = id => {
  process.send({id, turnOver: true})
  return new Promise(begin => waiting.set(id, begin))
}

const BEHAVIOURS = {
  ok: completed,
  turns: async ({seed}, _, id) => {
    note(`turn ${seed}`)
    await yieldTurn(id)
    note(`turn ${seed}`)
    return completed()
  },
  turnAndDie: (_, __, id) => {
    yieldTurn(id)
    setTimeout(() => process.exit(7), 50)
  },
  sign: completed,
  sleep: async ({norm}) => {
    await new Promise(resolve => setTimeout(resolve, norm))
    return completed()
  },
  wait: async () => {
    while (!existsSync(process.env.RFA_TEST_GATE))
      await new Promise(resolve => setTimeout(resolve, 5))
    return completed()
  },
  skip: () => ({outcome: {status: 'skipped', reason: 'not for this shape'}}),
  refuse: () => ({error: {code: 'BAD_FILE', message: 'q.npy: expected 4 axes, got 5'}}),
  nan: () => ({outcome: {status: 'completed', result: {...result(), feature_dim: Number.NaN}}}),
  environment: () => ({outcome: {status: 'skipped', reason: String(process.env.RFA_TEST)}}),
  threads: (_, {threadShare, processes}) => ({
    outcome: {status: 'skipped', reason: `${threadShare} threads, ${processes} processes`},
  }),
  print: () => {
    process.stdout.write('a library says something\n')
    return completed()
  },
  nonsense: (_, __, id) => {
    const odd = [
      null,
      5,
      'x',
      [],
      {},
      {id},
      {id: 'x', leftMs: 0},
      {id, leftMs: 'x'},
      {id, error: 5},
    ]
    for (const message of odd) process.send(message)
    return completed()
  },
  badError: () => ({error: {code: 5}}),
  exit: () => process.exit(7),
  kill: () => process.kill(process.pid, 'SIGKILL'),
  uncaught: () => setImmediate(() => decodeURIComponent('%')),
  hang: () => {
    for (;;);
  },
  leave: () => {
    setInterval(() => {}, 60_000)
    setImmediate(() => process.disconnect())
  },
  heap: () => {
    const list = []
    for (;;) list.push(Array.from({length: 1000}, Math.random))
  },
}

/** Writes down what was asked, where a test wants to know. */
const note = text => {
  if (process.env.RFA_TEST_FILE) appendFileSync(process.env.RFA_TEST_FILE, `${text}\n`)
}

process.on('message', async ({id, cell, context, profile, others}) => {
  if (others !== undefined) return waiting.get(id)()
  note(profile === undefined ? 'cell' : JSON.stringify(profile))
  if (profile?.path === 'refused') {
    return process.send({id, refusal: {message: 'refused: no place', suggestions: []}})
  }
  if (profile?.path === 'slow') {
    await new Promise(resolve => setTimeout(resolve, 300))
    note('written')
  }
  if (profile === 'start') {
    await new Promise(resolve => setTimeout(resolve, 20)) // a cell sent meanwhile would be noted first
    note('begun')
  }
  if (profile !== undefined) return process.send({id, done: true})
  if (cell.method === 'sign') process.send({id, leftMs: cell.norm})
  const reply = await BEHAVIOURS[cell.method](cell, context, id)
  if (reply?.outcome || reply?.error) process.send({id, ...reply})
})
