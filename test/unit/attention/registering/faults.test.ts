import {pathToFileURL} from 'node:url'
import {expect, it} from 'vitest'
import {authorLine, inPart} from '../../../../src/attention/registering/faults.js'

/** An error with frames of its own. */
function thrownAt(...places: string[]): Error {
  const error = new Error('of the author')
  error.stack = ['Error: of the author', ...places.map(place => `    at phi (${place}:3:14)`)].join(
    '\n',
  )
  return error
}

it.each(['/maps/5%x/map.mjs', '/maps/100%25/map.mjs', '/maps/a b/map.mjs'])(
  'the line of an author is found in %s, as a URL and as a path',
  path => {
    expect(authorLine(thrownAt(pathToFileURL(path).href))).toBe(`${path}:3:14`)
    expect(authorLine(thrownAt(path))).toBe(`${path}:3:14`)
  },
)

it('the line of an author is the innermost that is of no package', () => {
  const places = ['/maps/node_modules/one/map.mjs', '/maps/mine.mjs', '/maps/caller.mjs']
  expect(authorLine(thrownAt(...places))).toBe('/maps/mine.mjs:3:14')
})

it('an error of an author is reported where its frames are no paths', () => {
  const told = () => {
    inPart('mine: phi', () => {
      throw thrownAt('file:///maps/5%x/map.mjs')
    })
  }
  expect(told).toThrow('mine: phi threw of the author (file:///maps/5%x/map.mjs:3:14)')
})
