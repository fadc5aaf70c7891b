/** What a page of `rfa report --html` does once it is open; without it everything is there, but stands still. */
import {copyButtons} from './commands.js'
import {livelyFigures} from './figures.js'
import {unfoldedPrints} from './printing.js'
import {sortableTables} from './tables.js'

sortableTables()
livelyFigures()
copyButtons()
unfoldedPrints()
