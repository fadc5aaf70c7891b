/** The table of a first screen over several layers, lengths or scales. */
import {type ColumnSpec, table} from '../../../../report/document.js'
import {evenly} from '../../../../report/evenly.js'
import {errorSpan, errorText, MISSING} from '../../../../report/numbers.js'
import {shortened} from '../../../../report/words.js'
import {variantLabel} from '../../../labels.js'
import {axesOf, type Place} from '../groups/places.js'
import {type PlaceAnswer, placeAnswers} from '../sentences/over-places.js'
import {type CutTable, endsOf, NAME} from './methods-table.js'

/** A row for each place: the lowest error, the variant that has it, and the error of averaging V. */
export function placesTable(places: readonly Place[]): CutTable {
  const axes = axesOf(places)
  const columns: ColumnSpec<PlaceAnswer>[] = [
    ...axes.map(({title, align, value}) => ({
      title,
      align,
      cell: ({place: [first]}: PlaceAnswer) => shortened(value(first), NAME),
    })),
    {title: 'lowest error', cell: ({lowest}) => (lowest ? errorSpan(...endsOf(lowest)) : MISSING)},
    {
      title: 'method',
      align: 'left',
      cell: ({lowest}) => (lowest ? shortened(variantLabel(lowest.cell), NAME) : 'none is usable'),
    },
    {title: 'averaging V', cell: ({average}) => errorText(average ?? null)},
  ]
  return {
    count: places.length,
    blocks: rows => [table(columns, placeAnswers(evenly(places, rows)))],
  }
}
