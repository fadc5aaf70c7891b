import {expect, it} from 'vitest'
import {layoutOf} from '../../../src/report/layout.js'

const terminal = (columns: number) => ({isTTY: true, columns})

it('a terminal says how wide it is', () => {
  const layout = {width: 72, colour: true, whole: false, unicode: false}
  expect(layoutOf(terminal(72), {})).toEqual(layout)
  expect(layoutOf(terminal(72), {COLUMNS: '200'})).toEqual(layout)
  expect(layoutOf(terminal(72), {NO_COLOR: '1'}).colour).toBe(false)
})

it.each([{}, {isTTY: true, columns: 0}])('elsewhere tables keep every column (%o)', output => {
  expect(layoutOf(output, {})).toMatchObject({width: 120, whole: true})
})

it('elsewhere COLUMNS says how wide it is', () => {
  expect(layoutOf({}, {COLUMNS: '80'})).toMatchObject({width: 80, colour: false, whole: false})
})

it.each(['', '0', '-5', '80x', '1e9', '12345678'])('a COLUMNS of %j says nothing', COLUMNS => {
  expect(layoutOf({}, {COLUMNS})).toMatchObject({width: 120, whole: true})
})

it.each([
  [{LANG: 'de_DE.UTF-8'}, true],
  [{LANG: 'de_DE.UTF-8', LC_ALL: 'C'}, false],
  [{LANG: 'de_DE.UTF-8', TERM: 'linux'}, false],
  [{LANG: 'de_DE.UTF-8', TERM: 'dumb'}, false],
  [{}, false],
])('with %o stars are shown: %s', (environment, unicode) => {
  expect(layoutOf(terminal(80), environment)).toMatchObject({unicode})
})
