/** Headers of tables sort their rows: upwards, downwards, and back to the order of the report. */
import {sortedPlaces} from './sort-key.js'

const NEXT = {none: 'ascending', ascending: 'descending', descending: 'none'} as const
type Order = keyof typeof NEXT

/** Makes the headers of all tables work. */
export function sortableTables(): void {
  for (const table of document.querySelectorAll('table')) {
    const rows = [...table.tBodies[0]!.rows]
    const headers = [...table.tHead!.rows[0]!.cells]
    headers.forEach((header, at) => {
      header.querySelector('button')?.addEventListener('click', () => {
        const order = NEXT[(header.getAttribute('aria-sort') ?? 'none') as Order]
        for (const other of headers) other.removeAttribute('aria-sort')
        if (order !== 'none') header.setAttribute('aria-sort', order)
        table.tBodies[0]!.append(...ordered(rows, at, order))
      })
    })
  }
}

function ordered(rows: readonly HTMLTableRowElement[], column: number, order: Order) {
  if (order === 'none') return rows
  const cells = rows.map(row => row.cells[column]?.textContent ?? '')
  return sortedPlaces(cells, order === 'ascending' ? 1 : -1).map(place => rows[place]!)
}
