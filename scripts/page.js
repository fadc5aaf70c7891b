// Puts the script of report pages into one file, with their style sheet beside it: both are written into every page.
import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {rolldown} from 'rolldown'

/**
 * Writes dist/page from src/report/html.
 *
 * @param root - folder of the package
 */
export async function writePage(root) {
  const source = join(root, 'src', 'report', 'html')
  const output = join(root, 'dist', 'page')
  rmSync(output, {recursive: true, force: true})
  mkdirSync(output, {recursive: true})
  const script = await rolldown({input: join(source, 'client', 'main.ts'), platform: 'browser'})
  await script.write({file: join(output, 'page.js'), format: 'iife', minify: true})
  await script.close()
  writeFileSync(join(output, 'page.css'), readFileSync(join(source, 'page.css')))
}
