import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, it} from 'vitest'
import {type PassCase, SHAPE} from '../../../bench/peers/cases.js'
import {compare, rememberingJudge} from '../../../bench/peers/compare.js'
import {type Inputs, writeInputs} from '../../../bench/peers/inputs.js'
import {type Peer, startPeer} from '../../../bench/peers/peer-process.js'
import {judgedRows} from '../../../bench/peers/reference.js'
import {FULL} from '../../helpers/effort.js'

const LENGTH = 2
const given: PassCase = {
  ...SHAPE,
  kind: 'attention',
  method: 'elu',
  causal: true,
  length: LENGTH,
  flops: 1,
}
const FACTS = {peer: 'fake', python: '0', versions: {fake: '1'}, threads: 1}

let folder: string
let inputs: Inputs
let started: Peer[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rfa-test-peers-'))
  inputs = writeInputs(folder, LENGTH)
})

afterEach(() => {
  for (const peer of started) peer.stop()
  started = []
  rmSync(folder, {recursive: true})
})

/** A peer that answers each request with what `answer`, an expression of `request`, comes to. */
async function fake(answer: string, {first = JSON.stringify(FACTS), patience = 60_000} = {}) {
  const script = `
    const {writeFileSync} = require('node:fs')
    const {join} = require('node:path')
    const write = (request, floats) => writeFileSync(join(request.folder, 'fake.plain.f32'), Float32Array.from(floats))
    if (${JSON.stringify(first)}) console.log(${JSON.stringify(first)})
    const lines = require('node:readline').createInterface({input: process.stdin})
    lines.on('line', line => {
      const request = JSON.parse(line)
      const told = ${answer}
      if (told !== undefined) console.log(JSON.stringify(told))
    })`
  const command = {command: process.execPath, args: ['-e', script], env: process.env}
  const peer = await startPeer({name: 'fake', ...command, patience})
  started.push(peer)
  return peer
}

const prepare = (floats: string) =>
  `(write(request, ${floats}), {forms: {plain: {}}, failed: {other: 'no'}})`
const time = '{ns: Array(request.samples).fill(5)}'

describe('a peer', () => {
  it('tells what it is, prepares a case and times it', async () => {
    const peer = await fake(`request.do === 'prepare' ? ${prepare('[1, 2.5]')} : ${time}`)
    expect(peer.facts).toEqual(FACTS)
    const {engines, failed} = await peer.prepare(given, inputs.folder)
    expect(failed).toEqual([{engine: 'fake', form: 'other', reason: 'no'}])
    expect(engines).toMatchObject([{engine: 'fake', form: 'plain', departs: {}}])
    expect([...engines[0]!.output]).toEqual([1, 2.5])
    expect(await engines[0]!.time(3, 1)).toEqual([5, 5, 5])
  })

  it.runIf(FULL)(
    'is given up when it cannot be started, dies, hangs or talks nonsense',
    async () => {
      const start = (command: string, args: string[]) =>
        startPeer({name: 'fake', command, args, env: process.env, patience: 60_000})
      await expect(start('/nowhere/python', [])).rejects.toThrow('ENOENT')
      const script = 'console.error("ImportError: no module named fake"); process.exit(1)'
      await expect(start(process.execPath, ['-e', script])).rejects.toThrow(
        'fake: ended: ImportError: no module named fake',
      )
      const dying = await fake('process.exit(1)')
      await expect(dying.prepare(given, inputs.folder)).rejects.toThrow('fake: ended')
      const hanging = await fake('undefined', {patience: 2000})
      await expect(hanging.prepare(given, inputs.folder)).rejects.toThrow('fake: ended')
      const wrong = await fake(`{error: 'MemoryError: '}`)
      await expect(wrong.prepare(given, inputs.folder)).rejects.toThrow('fake: MemoryError')
      const odd = await fake('{forms: {plain: {scale: 2}}, failed: {}}')
      await expect(odd.prepare(given, inputs.folder)).rejects.toThrow('expected an answer, got')
      await expect(fake('0', {first: '{"peer": "fake"}'})).rejects.toThrow()
    },
  )
})

describe('a case', () => {
  const bench = (peers: Peer[]) => ({
    ...{
      threads: 1,
      processors: [0],
      peers,
      peak: () => null,
      random: () => 0,
      judge: rememberingJudge(),
    },
    effort: {seconds: 0.01, least: 2, most: 2},
    own: async () => ({
      ...{engine: 'rfa', form: 'native', departs: {}, output: right(), dispose() {}},
      time: async () => [10, 20],
    }),
  })
  /** The output, as the judge has it: all rows of the two heads that it looks at. */
  const right = () => {
    const out = new Float32Array(SHAPE.heads * LENGTH * SHAPE.headDim)
    for (const {head, row, out: entries} of judgedRows(given, inputs, {})) {
      out.set(entries, (head * LENGTH + row) * SHAPE.headDim)
    }
    return out
  }

  it('times peers that compute it, and leaves out those that do not', async () => {
    const good = await fake(
      `request.do === 'prepare' ? ${prepare(JSON.stringify([...right()]))} : ${time}`,
    )
    const row = await compare(given, inputs, bench([good]))
    expect(row.engines.map(({engine, runs, over_rfa}) => [engine, runs, over_rfa])).toEqual([
      ['rfa', 4, 1],
      ['fake', 10, 0.5],
    ])
    expect(row.left_out).toEqual([{engine: 'fake', form: 'other', reason: 'no'}])

    const wrong = await fake(
      `request.do === 'prepare' ? ${prepare(JSON.stringify([...right().map(x => -x)]))} : ${time}`,
    )
    const without = await compare(given, inputs, bench([wrong]))
    expect(without.engines.map(({engine}) => engine)).toEqual(['rfa'])
    expect(without.left_out).toMatchObject([
      {form: 'other'},
      {
        engine: 'fake',
        form: 'plain',
        reason: expect.stringMatching(/^expected .* at head 0, row 0/),
      },
    ])
  })

  it('goes on without a peer that dies', async () => {
    const prepared = prepare(JSON.stringify([...right()]))
    const dying = await fake(`request.do === 'prepare' ? ${prepared} : process.exit(1)`)
    const row = await compare(given, inputs, bench([dying]))
    expect(row.left_out).toContainEqual({engine: 'fake', form: 'plain', reason: 'fake: ended'})
    const later = await compare(given, inputs, bench([dying]))
    expect(later.left_out).toEqual([{engine: 'fake', form: 'all', reason: 'fake: ended'}])
    expect(later.engines.map(({engine}) => engine)).toEqual(['rfa'])
  })

  it('is no case where this package computes something else', async () => {
    const wrong = {
      ...bench([]),
      own: async () => ({...(await bench([]).own()), output: right().fill(1)}),
    }
    await expect(compare(given, inputs, wrong)).rejects.toThrow(/^rfa native: expected/)
  })
})
