import {setImmediate as tick} from 'node:timers/promises'
import {describe, expect, it} from 'vitest'
import {type Place, Turns} from '../../../../src/runner/schedule/turns.js'

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
      placesOf(new Turns(), 3).map(async (place, at) => {
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

  it('let nobody compute, nor prepare, beside another one', async () => {
    const [first, second, third] = placesOf(new Turns(), 3)
    await first!.prepare()
    const ready = second!.prepare()
    expect(await isOver(ready)).toBe(false)
    const turn = first!.pass()
    await ready
    const late = third!.prepare()
    // in the round of that turn
    expect(await isOver(turn)).toBe(false)
    second!.leave()
    await Promise.race([turn, late])
    expect([first!.holds, third!.holds].filter(Boolean)).toHaveLength(1)
  })

  it('keep to that whatever takes how long', async () => {
    const turns = new Turns()
    const inside = new Set<Place>()
    const stay = async (place: Place, ticks: number) => {
      inside.add(place)
      for (let i = 0; i < ticks; i++) {
        expect([...inside]).toEqual([place])
        expect(place.holds).toBe(true)
        await tick()
      }
      inside.delete(place)
    }
    await Promise.all(
      placesOf(turns, 7).map(async (place, at) => {
        for (let cell = 0; cell < 3; cell++) {
          await place.prepare()
          await stay(place, 1 + ((3 * at + 5 * cell) % 4))
          for (let turn = 0; turn < 1 + ((at + cell) % 3); turn++) {
            await place.pass()
            await stay(place, 1 + ((at + turn) % 2))
          }
          place.leave()
          expect(place.holds).toBe(false)
        }
      }),
    )
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
