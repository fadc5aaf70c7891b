import {setImmediate as tick} from 'node:timers/promises'
import {describe, expect, it} from 'vitest'
import {type Place, Turns} from '../../../src/runner/turns.js'

/** Whether a promise has settled once all that can go on has. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false
  void promise.then(() => {
    over = true
  })
  await tick()
  return over
}

const placesOf = (turns: Turns, count: number): Place[] =>
  Array.from({length: count}, () => turns.place())

describe('Turns', () => {
  it('come in rounds, in an order that changes', async () => {
    const order: number[] = []
    await Promise.all(
      placesOf(new Turns(3), 3).map(async (place, at) => {
        await place.prepare()
        for (let turn = 0; turn < 8; turn++) {
          expect(await place.pass()).toBe('after others')
          order.push(at)
          await tick()
        }
        place.leave()
      }),
    )
    for (let end = 1; end <= order.length; end++) {
      const counts = [0, 1, 2].map(at => order.slice(0, end).filter(one => one === at).length)
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2)
    }
    // whoever follows the first place is not always the same
    const after = order.flatMap((at, turn) => (order[turn - 1] === 0 ? [at] : []))
    expect(new Set(after).size).toBeGreaterThan(1)
  })

  it('go on at once where nobody waits', async () => {
    const place = new Turns().place()
    await place.prepare()
    await place.pass()
    expect(await place.pass()).toBe('alone')
  })

  it('pass over who has left the line', async () => {
    const [first, second, third] = placesOf(new Turns(), 3)
    await first!.prepare()
    const left = second!.prepare()
    const waiting = third!.prepare()
    second!.leave()
    first!.leave()
    await waiting
    expect(await isOver(left)).toBe(false)
  })

  it('let some prepare side by side, as many as they are made for', async () => {
    const [first, second, third] = placesOf(new Turns(2), 3)
    await Promise.all([first!.prepare(), second!.prepare()])
    const waiting = third!.prepare()
    expect(await isOver(waiting)).toBe(false)
    first!.leave()
    await waiting
  })

  it('let nobody compute beside one that prepares, nor prepare beside one that computes', async () => {
    const [first, second, third] = placesOf(new Turns(3), 3)
    await Promise.all([first!.prepare(), second!.prepare()])
    const turn = first!.pass()
    const late = third!.prepare()
    expect(await isOver(turn)).toBe(false)
    // nor does it overtake who waits for a turn
    expect(await isOver(late)).toBe(false)
    second!.leave()
    expect(await turn).toBe('after others')
    expect(await isOver(late)).toBe(false)
    first!.leave()
    await late
  })

  it('keep to that whatever takes how long', async () => {
    const turns = new Turns(3)
    const [preparing, computing] = [new Set<Place>(), new Set<Place>()]
    const most = {preparing: 0}
    const stay = async (place: Place, among: Set<Place>, ticks: number) => {
      among.add(place)
      for (let i = 0; i < ticks; i++) {
        expect(computing.size).toBeLessThanOrEqual(preparing.size > 0 ? 0 : 1)
        expect(preparing.size).toBeLessThanOrEqual(3)
        most.preparing = Math.max(most.preparing, preparing.size)
        await tick()
      }
      among.delete(place)
    }
    await Promise.all(
      placesOf(turns, 7).map(async (place, at) => {
        for (let cell = 0; cell < 3; cell++) {
          await place.prepare()
          await stay(place, preparing, 1 + ((3 * at + 5 * cell) % 4))
          for (let turn = 0; turn < 1 + ((at + cell) % 3); turn++) {
            await place.pass()
            await stay(place, computing, 1 + ((at + turn) % 2))
          }
          place.leave()
        }
      }),
    )
    expect(most.preparing).toBe(3)
  })

  it('keep nobody waiting once they are closed, and tell that there are none', async () => {
    const turns = new Turns()
    const [first, second, third] = placesOf(turns, 3)
    await first!.prepare()
    await first!.pass()
    const waiting = second!.prepare()
    const turn = third!.pass()
    turns.close()
    await waiting
    expect(await turn).toBe('none')
    expect(await first!.pass()).toBe('none')
    await turns.place().prepare()
    expect(await turns.place().pass()).toBe('none')
  })
})
