import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeAll, describe, expect, it} from 'vitest'
import {
  drawProjection,
  ProjectionSource,
  parseRedraw,
  redrawChoice,
} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {Z} from '../../../helpers/statistics.js'

const context = {heads: 3, seed: 5}
const choose = (text: string, call: number, more: object = {}) =>
  redrawChoice(parseRedraw(text), call, {...context, ...more})

describe('parseRedraw', () => {
  it('reads the four policies', () => {
    expect(parseRedraw('fixed')).toEqual({kind: 'fixed'})
    expect(parseRedraw('call')).toEqual({kind: 'call'})
    expect(parseRedraw('every:1000')).toEqual({kind: 'every', calls: 1000})
    expect(parseRedraw('pool:500')).toEqual({kind: 'pool', size: 500})
  })

  it.each(['', 'never', 'every', 'every:0', 'pool:1.5', 'pool:-1', 'call:2'])(
    'refuses "%s"',
    text => {
      expect(() => parseRedraw(text, '--redraw')).toThrow(
        `--redraw: expected fixed, call, every:CALLS or pool:SIZE, got "${text}"`,
      )
    },
  )
})

describe('redrawChoice', () => {
  const draws = (text: string) => [0, 1, 2, 3, 4, 5].map(call => choose(text, call).redraw)

  it('counts the draws of each policy', () => {
    expect(draws('fixed')).toEqual([0, 0, 0, 0, 0, 0])
    expect(draws('call')).toEqual([0, 1, 2, 3, 4, 5])
    expect(draws('every:2')).toEqual([0, 0, 1, 1, 2, 2])
    expect(draws('pool:7')).toEqual([0, 0, 0, 0, 0, 0])
  })

  it('gives each head its own matrix of the draw', () => {
    expect(choose('every:2', 3)).toEqual({redraw: 1, count: 3, members: [0, 1, 2]})
  })

  it('takes different members of a pool at every call, none twice', () => {
    const taken = Array.from({length: 50}, (_, call) => choose('pool:7', call).members)
    for (const members of taken) {
      expect(new Set(members).size).toBe(3)
      for (const member of members) expect(member).toBeLessThan(7)
    }
    expect(new Set(taken.map(String)).size).toBeGreaterThan(1)
    expect(choose('pool:7', 4).members).toEqual(choose('pool:7', 4).members)
  })

  it('takes every member of a pool equally often', () => {
    const calls = 4000
    const counts = new Float64Array(7)
    for (let call = 0; call < calls; call++) {
      for (const member of choose('pool:7', call).members) counts[member]!++
    }
    const share = 3 / 7
    const spread = Math.sqrt(calls * share * (1 - share))
    for (const count of counts) expect(Math.abs(count - calls * share)).toBeLessThan(Z * spread)
  })

  it('takes a whole pool as a permutation', () => {
    expect([...choose('pool:3', 1).members].sort()).toEqual([0, 1, 2])
  })

  it.each(['fixed', 'call', 'every:2', 'pool:7'])(
    'evaluation does not depend on the call: %s',
    text => {
      for (const call of [0, 1, 9]) {
        expect(choose(text, call, {evaluation: true})).toMatchObject({
          redraw: 0,
          members: [0, 1, 2],
        })
      }
    },
  )

  it('refuses a pool smaller than the number of heads', () => {
    expect(() => choose('pool:2', 0)).toThrow(
      'redraw: expected a pool of at least 3 matrices, got 2',
    )
  })
})

describe('ProjectionSource', () => {
  beforeAll(() => useBackend('cpu'))

  const request = {name: 'orth', heads: 3, numFeatures: 5, headDim: 4, seed: 6} as const
  const size = 5 * 4
  let source: ProjectionSource | undefined
  const open = (redraw: string) => {
    source = new ProjectionSource({...request, redraw})
    return source
  }
  afterEach(() => source?.dispose())

  it.each(['call', 'every:2'])('%s: gives the draws that the policy names', redraw => {
    const opened = open(redraw)
    for (let call = 0; call < 5; call++) {
      const rows = drawProjection({...request, redraw: choose(redraw, call).redraw})
      expect(opened.next().dataSync()).toEqual(Float32Array.from(rows))
    }
    expect(opened.evaluation().dataSync()).toEqual(Float32Array.from(drawProjection(request)))
  })

  it('fixed: the same tensor at every call', () => {
    const opened = open('fixed')
    const first = opened.next()
    expect(first.shape).toEqual([3, 5, 4])
    expect(opened.next()).toBe(first)
    expect(opened.evaluation()).toBe(first)
  })

  it('pool: heads take the members that the policy names', () => {
    const opened = open('pool:6')
    const pool = Float32Array.from(drawProjection({...request, heads: 6}))
    for (let call = 0; call < 3; call++) {
      const {members} = redrawChoice({kind: 'pool', size: 6}, call, {heads: 3, seed: 6})
      const data = opened.next().dataSync()
      members.forEach((member, head) => {
        expect(data.slice(head * size, (head + 1) * size)).toEqual(
          pool.slice(member * size, (member + 1) * size),
        )
      })
    }
  })

  it('holds one tensor at a time, and none when disposed of, also inside tidy', () => {
    const before = tf.memory().numTensors
    const opened = open('call')
    tf.tidy(() => {
      opened.next()
      opened.next()
    })
    expect(opened.next().isDisposed).toBe(false)
    expect(tf.memory().numTensors).toBe(before + 1)
    opened.dispose()
    expect(tf.memory().numTensors).toBe(before)
  })
})
