import {describe, expect, it} from 'vitest'
import {type Use, useText, waitUntilQuiet} from '../../../../src/cli/run/wait-quiet.js'

/** Two processors; the share of both that is in use in each second, the last one for ever. */
async function waited(shares: readonly number[], limitMs = 60_000) {
  let [seconds, busy] = [0, 0]
  const told: Use[] = []
  const use = await waitUntilQuiet(limitMs, own => told.push(own), {
    count: 2,
    now: () => ({busy, all: 2000 * seconds}),
    sleep: async ms => {
      busy += 2 * ms * (shares[seconds] ?? shares.at(-1)!)
      seconds += ms / 1000
    },
  })
  return {seconds, told, use}
}

describe('waitUntilQuiet', () => {
  it('looks for three seconds where nothing else runs, and says nothing', async () => {
    expect(await waited([0.05])).toEqual({seconds: 3, told: [], use: undefined})
  })

  it('waits for three quiet seconds in a row, and says once what it waits for', async () => {
    const {seconds, told, use} = await waited([0, 0.9, 0, 0, 0.5, 0])
    expect({seconds, use}).toEqual({seconds: 8, use: undefined})
    expect(told.map(useText)).toEqual(['other programs use 1.8 of 2 processors'])
  })

  it('ends at the limit with what was in use at last', async () => {
    expect(await waited([1, 1, 0.06], 20_000)).toMatchObject({
      seconds: 20,
      use: {busy: expect.closeTo(0.12, 10), count: 2},
    })
    expect(await waited([0], 1000)).toMatchObject({seconds: 1, use: undefined})
    expect(await waited([1], 0)).toMatchObject({seconds: 1, told: [], use: {busy: 2, count: 2}})
  })
})
