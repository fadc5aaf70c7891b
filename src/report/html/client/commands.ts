/** Buttons that copy commands. */

/** How long a button says what it did. */
const TOLD_MS = 1500

/** Makes them work; a page from disk may not use the clipboard everywhere: then the command is selected. */
export function copyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button.copy')) {
    const code = button.parentElement!.querySelector('code')!
    button.addEventListener('click', async () => {
      const told = (await copied(code)) ? 'copied' : 'selected'
      button.textContent = told
      setTimeout(() => {
        button.textContent = 'copy'
      }, TOLD_MS)
    })
  }
}

async function copied(code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent ?? '')
    return true
  } catch {
    getSelection()?.selectAllChildren(code)
    return false
  }
}
