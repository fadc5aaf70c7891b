import {describe, expect, it} from 'vitest'
import {Turns} from '../../../src/runner/turns.js'

describe('Turns', () => {
  it('come in the order in which they were asked for', async () => {
    const turns = new Turns()
    const places = [0, 1, 2].map(() => turns.place())
    const order: number[] = []
    await Promise.all(
      places.map(async (place, at) => {
        await place.take()
        order.push(at)
        expect(await place.pass()).toBe(true)
        order.push(at)
        place.leave()
      }),
    )
    expect(order).toEqual([0, 1, 2, 0, 1, 2])
  })

  it('go on at once where nobody waits', async () => {
    const place = new Turns().place()
    await place.take()
    expect(await place.pass()).toBe(false)
  })

  it('pass over who has left the line', async () => {
    const turns = new Turns()
    const [first, second, third] = [0, 1, 2].map(() => turns.place())
    await first!.take()
    let had = false
    void second!.take().then(() => {
      had = true
    })
    const waiting = third!.take()
    second!.leave()
    first!.leave()
    await waiting
    expect(had).toBe(false)
  })

  it('keep nobody waiting once they are closed', async () => {
    const turns = new Turns()
    const [first, second] = [turns.place(), turns.place()]
    await first.take()
    const waiting = second.take()
    turns.close()
    await waiting
    await turns.place().take()
  })
})
