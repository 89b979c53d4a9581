// Shows the forms of actions and their results in a dialog. Without this they are pages of their own.
"use strict";

(() => {
  const dialog = document.getElementById("dialog");
  const ours = (event) => event.detail.target === dialog;

  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (!ours(event)) return;
    event.detail.shouldSwap = true; // a refusal is shown as well
    event.detail.isError = false;
  });

  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (!ours(event)) return;
    if (!dialog.open) dialog.showModal();
    (dialog.querySelector("[autofocus]") || dialog.querySelector("h2")).focus();
  });

  document.body.addEventListener("htmx:sendError", (event) => {
    if (!ours(event)) return;
    const told = document.createElement("p");
    told.className = "banner bad";
    told.setAttribute("role", "alert");
    told.textContent = "The console does not answer. If you sent something, look whether it was done.";
    dialog.prepend(told);
    if (!dialog.open) dialog.showModal();
  });

  dialog.addEventListener("click", (event) => {
    if (!event.target.closest("[data-close]")) return;
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("close", () => dialog.replaceChildren());
})();
