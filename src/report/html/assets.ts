import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {packageRoot} from '../../package.js'

/** What every page has in it. */
export interface PageAssets {
  style: string
  script: string
}

/** The style sheet and the script of pages, as `npm run build` leaves them in dist/page. */
export function pageAssets(): PageAssets {
  const read = (name: string) => readFileSync(join(packageRoot(), 'dist', 'page', name), 'utf8')
  return {style: read('page.css'), script: read('page.js')}
}
