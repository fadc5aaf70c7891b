/** Pages of reports in Chromium, from disk and without a network. */
import {accessSync, constants} from 'node:fs'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {delimiter, join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {type Browser, type BrowserContextOptions, chromium, type Page} from 'playwright-core'
import {afterAll, beforeAll, describe} from 'vitest'

/** Names under which it is installed. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Where it is; `RFA_CHROMIUM` names another. */
function chromiumPath(): string | undefined {
  const {PATH = '', RFA_CHROMIUM} = process.env
  const folders = PATH.split(delimiter)
  const places = NAMES.flatMap(name => folders.map(folder => join(folder, name)))
  return [...(RFA_CHROMIUM ? [RFA_CHROMIUM] : []), ...places].find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** How a test opens pages. */
export interface Pages {
  /**
   * Opens a page, and fails where it logs an error or fetches anything.
   *
   * @param html - the whole file
   * @returns the page, and what it complained of so far
   */
  open(html: string, options?: BrowserContextOptions): Promise<{page: Page; complaints: string[]}>
}

/** Tests in a browser; they are skipped, and that is said, where there is none. */
export function describeBrowser(name: string, tests: (pages: Pages) => void): void {
  const executablePath = chromiumPath()
  if (!executablePath)
    process.stderr.write(`no Chromium, skipped: ${name} (apt-get install chromium)\n`)
  describe.skipIf(!executablePath)(name, () => {
    let browser: Browser
    let folder: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rfa-browser-'))
      // without its sandbox, which root may not have: it opens our own files alone
      browser = await chromium.launch({executablePath: executablePath!, args: ['--no-sandbox']})
    })
    afterAll(async () => {
      await browser?.close()
      await rm(folder, {recursive: true})
    })
    let count = 0
    tests({
      open: async (html, options = {}) => {
        const file = join(folder, `${++count}.html`)
        await writeFile(file, html)
        const context = await browser.newContext({offline: true, ...options})
        const page = await context.newPage()
        const complaints: string[] = []
        page.on('console', message => complaints.push(message.text()))
        page.on('pageerror', error => complaints.push(error.message))
        page.on('request', request => {
          if (request.url() !== pathToFileURL(file).href)
            complaints.push(`asked for ${request.url()}`)
        })
        await page.goto(pathToFileURL(file).href)
        return {page, complaints}
      },
    })
  })
}
