// Light or dark on a page without Gradio: as it was chosen, or as the system is. Runs before anything is painted.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem('playground-theme'); } catch { /* a private window */ }
  const dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.body.classList.toggle('dark', dark);
  document.addEventListener('click', (event) => {
    if (!event.target.closest('.theme')) return;
    const now = document.body.classList.toggle('dark');
    try { localStorage.setItem('playground-theme', now ? 'dark' : 'light'); } catch { /* a private window */ }
  });
})();
