// Puts the script of report pages into one file, next to their style sheet: both are written into every page.
import {readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {rolldown} from 'rolldown'
import {replaceFolder} from './aside.js'

/**
 * Writes dist/page from src/report/html.
 *
 * @param root - folder of the package
 */
export function writePage(root) {
  const source = join(root, 'src', 'report', 'html')
  return replaceFolder(join(root, 'dist', 'page'), output => write(source, output))
}

async function write(source, output) {
  const script = await rolldown({input: join(source, 'client', 'main.ts'), platform: 'browser'})
  await script.write({file: join(output, 'page.js'), format: 'iife', minify: true})
  await script.close()
  writeFileSync(join(output, 'page.css'), readFileSync(join(source, 'page.css')))
}
