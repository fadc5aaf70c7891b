import {appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {dirname} from 'node:path'

/** A worker that does what the cell's method says. @param found - a number of the cell's own */
const result = (found = 1) => ({
  backend: 'cpu',
  feature_dim: 13,
  kernel: `pid ${process.pid}`,
  expectation: found,
  closed_form_variance: 2,
  closed_form_kurtosis: 1,
  calibration_pairs: null,
  without_effect: {},
  per_projection: [],
})
const completed = found => ({outcome: {status: 'completed', result: result(found)}})
const seen = path => existsSync(path)
const until = async isSo => {
  while (!isSo()) await new Promise(resolve => setTimeout(resolve, 5))
}

/** Cells that wait for their turn. */
const waiting = new Map()
const yieldTurn = id => {
  process.send({id, turnOver: true})
  return new Promise(begin => waiting.set(id, begin))
}
/** Takes turns until there is an end, or none any more. */
const takeTurns = async ({seed}, id, {isLast}) => {
  let turns = 0
  for (;;) {
    const next = await yieldTurn(id)
    if (next === 'none' && turns === 0) {
      return {error: {code: 'INTERRUPTED', message: 'interrupted before the first turn'}}
    }
    if (next === 'none') return completed(turns)
    turns++
    note(`turn ${seed}`)
    await new Promise(resolve => setTimeout(resolve, 5))
    note(`over ${seed}`)
    if (isLast(turns)) return completed(turns)
  }
}

const BEHAVIOURS = {
  ok: () => completed(),
  process: (_, {process: index}) => completed(index),
  turns: (cell, _, id) => takeTurns(cell, id, {isLast: turns => turns === 2}),
  laps: (cell, _, id) => takeTurns(cell, id, {isLast: () => seen(process.env.RFA_TEST_GATE)}),
  // with as many others as its norm says
  together: async (cell, _, id) => {
    note(`begin ${cell.seed}`)
    await until(() => notesOf('begin').length >= cell.norm)
    note(`ready ${cell.seed}`)
    return takeTurns(cell, id, {isLast: turns => turns === 2})
  },
  stuck: async ({seed}, _, id) => {
    await yieldTurn(id)
    await yieldTurn(id)
    note(`stuck ${seed}`)
    for (;;);
  },
  turnThenDie: async ({seed}, _, id) => {
    await yieldTurn(id)
    note(`turn ${seed}`)
    process.exit(7)
  },
  turnAndDie: (_, __, id) => {
    yieldTurn(id)
    setTimeout(() => process.exit(7), 50)
  },
  sign: () => completed(),
  sleep: async ({norm}) => {
    await new Promise(resolve => setTimeout(resolve, norm))
    return completed()
  },
  wait: async () => {
    await until(() => seen(process.env.RFA_TEST_GATE))
    return completed()
  },
  // let others have their turns meanwhile
  late: async (cell, _, id) => {
    await takeTurns(cell, id, {isLast: () => seen(process.env.RFA_TEST_GATE)})
    return completed()
  },
  lateAndSkip: async (cell, _, id) => {
    await takeTurns(cell, id, {isLast: () => seen(process.env.RFA_TEST_GATE)})
    return {outcome: {status: 'skipped', reason: 'late'}}
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

/** What was written so that begins with a word. */
const notesOf = word =>
  readFileSync(process.env.RFA_TEST_FILE, 'utf8')
    .split('\n')
    .filter(line => line.startsWith(word))

process.on('message', async ({id, cell, context, profile, next}) => {
  if (next !== undefined) return waiting.get(id)(next)
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
  if (context?.checkpoint) {
    mkdirSync(dirname(context.checkpoint), {recursive: true})
    writeFileSync(context.checkpoint, '')
  }
  const reply = await BEHAVIOURS[cell.method](cell, context, id)
  if (reply?.outcome || reply?.error) process.send({id, ...reply})
})
