/** The columns that say which pair of vectors a row is of. */
import type {ColumnSpec} from '../../../report/document.js'
import {angleText, normText, type PairFields} from '../pair-text.js'

/** Norms and angle; sum and difference, or place in an input, where pairs are given by those. */
export function pairColumns<Row extends {cell: PairFields}>(): ColumnSpec<Row>[] {
  const given = ({cell}: Row) => cell.sum_norm !== undefined
  const place = (name: 'batch' | 'head' | 'query_index' | 'key_index') => ({
    cell: ({cell}: Row) => text(cell[name]),
    tells: ({cell}: Row) => (cell[name] ?? 0) > 0 || (name !== 'batch' && cell.head !== undefined),
  })
  const text = (value: number | undefined) => (value === undefined ? '-' : String(value))
  return [
    {title: 'sequence', priority: 4, ...place('batch')},
    {title: 'head', ...place('head')},
    {title: 'query', priority: 4, ...place('query_index')},
    {title: 'key', priority: 4, ...place('key_index')},
    {title: '|x+y|', cell: ({cell}) => text(cell.sum_norm), tells: given},
    {title: '|x-y|', cell: ({cell}) => text(cell.difference_norm), tells: given},
    {title: 'norm', cell: ({cell}) => normText(cell)},
    {title: 'angle', cell: ({cell}) => angleText(cell)},
  ]
}
