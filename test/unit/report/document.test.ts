import {expect, it} from 'vitest'
import {heading, withOwnNames} from '../../../src/report/document.js'
import {FIGURE} from '../../helpers/figures.js'

it('gives figures of one name numbers from the second on', () => {
  const figure = {kind: 'figure' as const, figure: FIGURE}
  const blocks = withOwnNames([figure, heading(1, 'errors'), figure, figure])
  const names = blocks.flatMap(block => (block.kind === 'figure' ? [block.figure.name] : []))
  expect(names).toEqual(['errors', 'errors-2', 'errors-3'])
})
